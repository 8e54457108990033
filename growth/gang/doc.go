// Package gang decides which jobs of several pods may be placed. The pods of such a job (a gang) are placed all or none: a
// part of them would wait for the rest, and hold memory that another job could use.
//
// # Decision
//
// Decide looks at all gangs that wait, in one order: by creation, then by name. Room that gangs hold counts as free, and is given
// out again in that order. So the earlier gang gets the room of a later one, and two gangs that hold a half each do not block one
// another: the later one releases its half.
//
//	all pods fit    room is reserved for all of them; they may be bound (Placed)
//	some pods fit   they hold their room for Limits.Hold, while the rest waits for room
//	after that      the gang releases all of it, and holds nothing for Limits.Rest, so that others can use the room
//
// A gang that rests is placed as soon as all of its pods fit at once. One whose pods all had room, and were not bound in time,
// rests without exception: something that this package does not see keeps a pod from its node.
//
// One pass decides about a limited number of gangs (Window): about all that hold room, and about the others in turn.
//
// # Gangs that run
//
// A gang with a pod on a node has been placed. A pod that is created for it later, in place of one that has failed, is placed
// alone: the other pods wait for it already.
package gang
