// Package ledger reads and writes one node's books on the bus: GPUs, allocations and reservations.
//
// The extender is the sole writer of reservations, but any number of its replicas may write at once, and kubelet
// allocates on its own. So a reservation is written under two guards: since the revision on which it was decided,
// nothing new was reserved and nothing new was allocated on that node. Deletions do not matter, they only make room.
// bus.ErrConflict means: read the node again and decide again.
package ledger
