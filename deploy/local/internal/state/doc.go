// Package state is what a local cluster keeps on disk: where each file lies ([Folder]), what is running ([Record])
// and who may change it ([Lock]).
//
// Below the state root (/var/lib/trellis-local by default) every cluster has one folder, which is all that it
// writes outside of its own mount namespaces, and one lock file. The record is written before what it names is
// created, so that a clean-up after a crash finds everything. Fields that a reader does not know survive nowhere:
// the record never outlives its cluster, and one of another version is refused.
package state
