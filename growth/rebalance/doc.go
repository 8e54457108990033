// Package rebalance decides which jobs move to another node without a request: because that ends jobs earlier, or because a
// pending pod needs the room. It says why in a sentence with figures. Nothing moves unless all that the decision needs is known.
//
// # Earlier ends
//
// specon.Rule decides: the gain of all jobs together has to exceed a multiple of the measured cost of the move. Its nodes are
// here
//
//	CPU   the pool of a node whose coordinator divides CPU
//	GPU   one GPU of a node whose coordinator divides the time of GPUs
//
// A job moves between pools of one kind, GPUs of one model, and to the GPU on which the extender would place it. Where kernels of
// several jobs overlap (MPS), the learned model of interference says how fast jobs are next to each other.
//
// # Room
//
// A pending pod fits no node. It would fit one if one job moved from there to another node that has room for that job. The
// cheapest such move is made: see room.go. Preemption cannot help such a pod if the job has its priority.
//
// # What has to be known
//
// A node takes no part in moves for earlier ends if a job on it has no fresh sample, if a sample is invalid or of another node,
// if it is unknown how much a job can use, or if a job moves to or from there. A job of unknown or uncertain size is not moved.
//
// # Bounds
//
// A job moves at most twice in its life, all moves counted, stays for a minute before each move, waits after a failed one, and
// at most two jobs of the cluster move at a time.
package rebalance
