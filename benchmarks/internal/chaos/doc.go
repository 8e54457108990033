// Package chaos kills the binaries of Trellis with SIGKILL while a benchmark runs, and checks that they come back.
//
// Plan draws the time of each strike from a seed. The run calls Turn once per reading: it executes the strikes that are due
// and checks the earlier ones. A binary is back when kubelet has restarted each of its containers as often as it was killed,
// and all of them are ready.
//
// Victims finds the processes in the cgroups of one local cluster. No other process is killed.
package chaos
