// Package sweep takes reservations off the bus that have served: their pod has its allocation, has ended, is bound to
// another node, or is gone. What is left ends by itself (ledger.Life).
//
// A pod that the snapshot does not know is looked up at the API server before its reservation goes: another replica
// may have reserved for a pod that our informer has not heard of yet.
package sweep
