// Package recall saves what the coordinator knows of its jobs in a file on the node, for the coordinator after it.
//
// The bus has the samples too, but drops them when a coordinator is away for longer than its session, and may itself be
// unavailable when the next one starts. The file is written next to its place and renamed, so that a reader finds the old
// or the new one. A file that cannot be read does not prevent a start.
//
// Clocks are set, also while no coordinator runs. What counts is how long ago a decision was, so that the file also holds
// the time by the node's boot clock, which only advances (clock.go).
package recall
