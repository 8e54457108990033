// Package explain shows why a job has its share: the last decisions about the job, each with its inputs and its result.
//
// The running coordinator keeps the decisions (growth/node) and serves them on its health listener, to callers on the
// same node only. `coordinator --explain namespace/pod` queries the running coordinator and prints a
// table, or JSON for programs.
package explain
