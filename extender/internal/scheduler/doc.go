// Package scheduler answers the scheduler's three questions: which nodes have room (Filter), how good each is
// (Prioritize), and to have a pod bound to one (Bind).
//
// Filter and Prioritize read one snapshot and touch nothing. Bind is the only one that acts, in this order:
//
//  1. The pod, as the API server has it, must be unbound and must be the one that was scheduled.
//  2. GPUs are chosen on the snapshot and reserved on the bus, if nobody has reserved on them since; else the node is
//     read afresh and chosen on again, a bounded number of times. While the bus is away they are chosen on the last
//     snapshot and held in memory: optimistic, up to a bound, and written when the bus is back.
//  3. One Binding carries the GPUs as an annotation, the pod's UID and its resource version.
//  4. A Binding that was refused gives its reservation back. One whose fate is unknown keeps it: it serves the
//     scheduler's next try, and ends by itself otherwise. So does one of a pod that turns out to be bound here.
//
// Every error is a sentence that the scheduler puts into the pod's event, and every failed Bind may be tried again.
package scheduler
