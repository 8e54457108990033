// Package recall saves the memory of the state machine in a file on the node, for the next coordinator of this node.
//
// The bus has the samples too, but deletes them when a coordinator is gone for longer than its session, and may be
// unavailable when the next one starts. The file is replaced by a rename, so that a reader finds a complete file. An
// unreadable file does not prevent a start.
//
// The wall clock may be set at any time, even while no coordinator runs. Decisions depend on the time since the last decision, so the file
// also has the time of the node's boot clock, which is never set (clock.go).
package recall
