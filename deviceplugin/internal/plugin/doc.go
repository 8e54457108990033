// Package plugin is the device plugin as kubelet sees it.
//
// A Life is one registration with one kubelet: a gRPC server on a socket of ours, the call that registers it, and a
// look-out for kubelet's socket being made anew, which means that kubelet has restarted and forgotten us. The first of
// the three to end ends the life, and the next begins.
//
// A Server answers kubelet's questions.
//
//	ListAndWatch            all ids, again at each change of the inventory
//	GetPreferredAllocation  slice.Choose over the demands in the ledger; never an error, which would fail the pod
//	Allocate                environment and mount, from the ids alone; needs neither bus nor API server
//	PreStartContainer       tells the ledger that a container starts; never an error
//
// Allocate refuses two things. Ids on several GPUs for a container that asked for one: kubelet takes whatever ids are left
// when a node is nearly full, and half a job's memory on another GPU is of no use to it. And ids that a container holds: a
// kubelet that is asked for its books while it allocates may forget what it is just giving away, and offer it again
// (kubernetes/kubernetes#137534). Such ids are not preferred either, so that a refusal is rare; and we do not ask for its
// books while it allocates.
package plugin
