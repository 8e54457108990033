// Package recall keeps what the coordinator knows of its jobs in a file on the node, for the one that comes after it: the
// last samples, as on the bus, and the policy's virtual state, with jobs that have ended and that fair sharing would
// still be serving.
//
// The bus has the samples too, but forgets them when a coordinator has been away for longer than its session, and may
// itself be away when the next one starts. The file is written beside its place and moved there, so that a reader finds
// the old or the new one; what can not be read is no reason not to start.
//
// Clocks are set, also while no coordinator runs. What counts is how long ago something was, so the file says what time it
// was by the node's other clock, too, which only goes on (clock.go).
package recall
