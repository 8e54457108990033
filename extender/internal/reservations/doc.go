// Package reservations reads a node's records from the bus (inventory, allocations, reservations), writes reservations,
// and keeps those that this replica assumes.
//
// Store is for the bus. Only the extender writes reservations, but any number of its replicas may do so at once. Each GPU
// therefore has an epoch, a key that is written in the same commit as every reservation on that GPU. A reservation is
// written if, since the records it was decided on were read,
//
//   - no other reservation was written on the same GPUs (their epochs are not newer),
//   - no other reservation was written for the same pod (the pod's key is unchanged, or still absent),
//   - the node's inventory exists and was not published again.
//
// Pods on different GPUs of one node do not conflict. An epoch outlives the reservation, so a reservation that was written
// and released in between is noticed too. bus.ErrConflict means: read the node again and decide again.
//
// Forget deletes the epoch of a GPU that left the inventory, or whose node left the cluster; package reconcile decides
// when. A reservation that was decided earlier cannot be written afterwards: the inventory that named the GPU does not
// exist any more, and an inventory that names it again is newer. Forget is therefore safe at any time.
//
// A reservation may be held for the pod that will continue a job, under the name of the pod that moves. Its successor takes it over
// in one commit, which leaves it empty, until the mover deletes it.
//
// Allocations have no guard. An allocation on the reserved GPUs changes nothing. An allocation on other GPUs was decided by
// kubelet: package reconcile corrects the reservations, and kubelet's own accounting prevents double allocation.
//
// Before anything is written, 0 ≤ used ≤ total is checked on the records that the decision was based on. The arithmetic is
// signed, and records with negative amounts, or amounts larger than any GPU, are refused. A reservation that would
// over-commit a GPU is refused and counted.
//
// Assumed is for memory: like the assumed pods of kube-scheduler, an assumed reservation counts before the snapshot shows
// it. It is pending while the bus is unavailable, and written until the snapshot has caught up.
package reservations
