// Package explain shows why a job has the share it has: the last decisions about it, each with its inputs and its outcome.
//
// The running coordinator keeps the decisions (growth/node) and answers on its health listener to callers on the same
// node. `coordinator --explain namespace/pod` asks it, and prints a table for people or JSON for programs.
package explain
