// Package freeze stops and continues the processes of a container by the freezer of cgroup v2, for jobs that the shim cannot
// pause. It is off by default (--freeze).
//
// A frozen process runs no instruction until it is thawed, so nothing may stay frozen by mistake. Before a container is frozen
// for the first time, its cgroup is recorded in a file. A coordinator thaws all of the file when it starts and when it ends,
// with --freeze or without it. The caller bounds the time for which a container is frozen between two turns.
//
// Turns freeze a container for seconds (Freeze, Thaw), and a pause until its user ends it (Pause, Resume). It runs once neither wants
// it frozen.
//
// Freezing does not drain the GPU: kernels that the process has launched run to their end, which takes as long as its queue.
package freeze
