// Package process starts a cluster's programs so that they cannot outlive it, and identifies processes although the kernel
// reuses PIDs.
//
// The kernel kills the programs when the thread of their starter ends (PR_SET_PDEATHSIG). Therefore every start goes
// through one [Starter], which keeps its thread locked. It restarts nothing: [Starter.Exits] reports each exit with the
// path of the program's log. [Orphans] reaps the orphaned processes of an init.
package process
