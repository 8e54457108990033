// Package state is the state of a local cluster on disk: the paths of its files ([Folder]), its processes ([Record]) and the
// right to change it ([Lock]).
//
// Below the state root (/var/lib/trellis-local by default) every cluster has one folder and one lock file. Outside of its
// mount namespaces a cluster writes only there. The record lists each resource before it is created, so that a clean-up
// after a crash finds everything. Readers drop unknown fields and refuse other versions: no record outlives its cluster.
package state
