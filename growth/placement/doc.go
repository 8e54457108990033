// Package placement decides on which GPUs of a node a job would run, and how good a place that is.
//
// Place answers both: a Choice of GPUs with a Score, or a Misfit that says, in a sentence for the user, why the job
// does not fit.
//
// # Books
//
// NewNode makes a Node from what the bus and the API server know. Memory on a GPU is held by
//
//	allocations                      what kubelet really gave
//	∪ reservations                   for containers that kubelet has not reached yet
//	∪ bound pods, by annotation      where neither of the two is known (any more)
//
// with each pod counted once. Balances are signed: a GPU that holds more than it has shows as negative free memory and
// never as a huge amount of it.
//
// # Units
//
// Kubelet accounts whole units (bus.NodeGPUs.Unit MiB each) per container. A container that asks for u units on n GPUs
// holds ⌈u/n⌉ units on each. All containers of a pod share one set of GPUs; ordinary init containers give theirs on
// to the containers after them, so a pod holds the larger of the two sums, as kubelet does.
//
// # Scores
//
// The policy "growth" follows the idea that a place is worth what it adds to the growth of all jobs:
//
//	total(S)  = Σ_{j∈S} growth(j) / slowdown(j | S∖j)
//	worth(g)  = total(g ∪ new) − total(g)
//
// over the jobs S on GPU g. DESIGN.md charges the new job with growth(j)·(1 − 1/slowdown(j | g ∪ new)), which includes
// what j loses to the jobs that are there already; here it pays for what it changes and nothing else. A job on n GPUs
// has the n-th part of its growth on each, so the worth of a set of GPUs is the sum of its parts, and the best set is
// the best GPUs one by one. A new job's growth is 1: it has all its learning before it.
//
// Slowdowns are predicted by growth/interference and taken with caution: one deviation worse than expected.
//
// "specon" and "iadeep" are the rules of two published systems, for comparison; "binpack" and "spread" prefer the fullest
// and the emptiest GPU that fits. A node is worth what its best GPUs are, ties between GPUs go by UUID. Scale makes points
// of the scores of all nodes that one pod could go to, in the range 0..10 of the extender API.
package placement
