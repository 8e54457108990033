// Package explain tells why a job has the share it has: the last decisions about it, each with what it was taken on and
// what became of it.
//
// The running coordinator keeps them, so many a job, and answers on its health listener to callers on the same node;
// `coordinator --explain namespace/pod` asks it, and prints a table for people or JSON for programs.
package explain
