// Package specon chooses which jobs move to another node, after SpeCon (Mao et al., "Speculative Container Scheduling for
// Deep Learning Applications in a Kubernetes Cluster", IEEE Systems Journal 2022), Algorithms 3 to 5.
//
// Three choices have one form, so that they can be compared on the same jobs:
//
//	Literal    the published algorithms with the few repairs without which they move nothing (literal.go)
//	Corrected  what the text of the paper describes, without the defects of its algorithms (corrected.go)
//	Rule       a move that pays: predicted gain of all jobs over a multiple of the job's own cost (rule.go)
//
// # SpeCon
//
// A node's score is the sum of its jobs' weights: 2 for a Progressing job, 1.5 for a Watching one, 1 for a Converged one.
// A job that has converged next to a job that has not is moved, once, to the node with the lowest score. When no job is
// left to converge, or a node is idle, jobs are rebalanced by their number. Corrected moves a job of known size only if it then
// ends earlier by more than the cost.
//
// # A move that pays
//
// Let e be the time from now to the end of a job under fair sharing, by the predicted remaining work of all jobs of its node
// (fairfinish.ExpectFair). A move changes e for the jobs of two nodes. Its gain is the sum of the decreases, in seconds.
//
//	gain  = Σ e(before) − Σ e(after)      the moved job's e(after) includes the cost
//	cost  = save + evict + place + restore, of this job, in seconds; measured where it was moved before
//
// A move is made if gain > Factor·cost, if the moved job itself ends earlier, and if no job of the target ends later by more
// than Harm of its whole time, all moves so far included. A job moves at most MaxMoves times, and stays for Dwell before the
// next move. Reducing a share is free and comes first: the gain counts only what fair sharing on the node cannot give.
//
// A job of unknown size has no gain, so it is not moved by this rule. The policy of its node takes time from it instead.
package specon
