// Package process starts a cluster's programs so that they can not outlive it, and tells one process from a later
// one that was given the same number.
//
// Programs are tied to their starter: the kernel kills them when the starter's thread ends (PR_SET_PDEATHSIG),
// which is why every start goes through one [Starter] whose thread is never given back. Nothing is restarted:
// an exit is reported, with the path of the program's log, to whoever listens on [Starter.Exits].
// [Orphans] collects what programs leave behind to the init that this package's user is.
package process
