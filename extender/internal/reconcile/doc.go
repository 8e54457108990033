// Package reconcile compares plans with what kubelet and the API server report, once a second, and corrects the plans:
//
//	held         a reservation waits in memory for the bus                   write it, or drop it if kubelet has decided
//	(none)       kubelet has given every container its devices               release the reservation
//	stray        kubelet has, but on other GPUs than the reserved ones       release the reservation: the allocation counts
//	orphaned     the pod has ended, was deleted, or is on another node       release the reservation
//	unreserved   a bound pod waits for kubelet without a reservation         reserve the GPUs of its Binding, or free ones
//	overdrawn    kubelet gave a pod a GPU that was reserved for another one  move the other pod's reservation to free GPUs
//
// Allocations that differ from the plan are reported and not corrected (match failures):
//
//	elsewhere    a pod has a GPU that neither its reservation nor, without one, its Binding named
//	unknown      an allocation has existed for a minute and belongs to no pod of the node
//
// Each replica reports each of them once; a restarted replica reports them again.
//
// The epochs of GPUs, which fence reservations against late writes (bus.Epoch), are deleted ten minutes after the GPU left
// the inventory, so that a removed node leaves nothing on the bus. A device plugin may only be restarting, hence the delay.
//
// Allocations are authoritative: only reservations change. If no other GPU has room for a reservation, the reservation stays.
// A metric reports the drift until kubelet has rejected the pod.
//
// Every correction is a compare-and-swap, so any number of replicas may reconcile at once. Before the reservation of a pod
// that the snapshot does not have is released, the API server is asked for the pod: another replica may have reserved for
// a pod that this replica's informer has not delivered yet.
package reconcile
