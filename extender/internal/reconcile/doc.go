// Package reconcile keeps the books true: once a second it compares plans with what kubelet and the API server say, and
// repairs what differs.
//
//	held         a reservation waits in memory since the bus was away      write it, or drop it if kubelet has decided
//	(none)       kubelet has given every container its devices             release the reservation
//	stray        it has, but on other GPUs than were reserved              release the reservation: the allocation counts
//	orphaned     its pod has ended, is gone, or is on another node         release the reservation
//	unreserved   a bound pod waits for kubelet without a reservation       reserve what its Binding said, or what is free
//	overdrawn    kubelet gave a pod a GPU that was kept for another one     move the other's reservation to where there is room
//
// What kubelet has given and nobody meant is told and not repaired (match failures):
//
//	elsewhere    a pod has a GPU that neither its reservation nor, without one, its Binding named
//	unknown      an allocation has been there for a minute and belongs to no pod of the node
//
// Each replica tells each of them once, and one that was started anew those that it finds.
//
// It also forgets the epochs of GPUs that have been gone for ten minutes: a node that was taken out of the cluster leaves
// nothing behind. That a device plugin may be back any moment is the only reason to wait.
//
// Kubelet's word always wins: an allocation is never questioned, only plans move. Where nothing is free to move to, the
// plan stays as it is; kubelet will refuse the pod, and the metric shows it until then.
//
// Every repair is a compare-and-swap, so that any number of replicas may repair at once. A pod that the snapshot does not
// know is looked up at the API server before its reservation goes: another replica may have reserved for a pod that our
// informer has not heard of yet.
package reconcile
