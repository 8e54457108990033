// Package placement decides on which GPUs of a node a pod would run, and scores that choice.
//
// Place returns a Choice of GPUs with a Score, or a Status that explains to the user why the pod does not fit. The
// extender calls it for every node of a scheduling cycle; ScoreNode is the faster variant that returns the score only.
//
// # Accounting
//
// NewNode builds a Node from the records of the bus and of the API server. Memory on a GPU is held by
//
//	allocations     devices that kubelet has allocated
//	reservations    containers for which kubelet has not allocated devices yet
//	bound pods      pods without either record, by the GPUs in their annotation
//
// Each pod counts once. Free memory is signed: it is negative on an over-committed GPU.
//
// # Units
//
// Kubelet accounts whole units of bus.NodeGPUs.Unit MiB per container. A container with a limit of u units on n GPUs
// holds ⌈u/n⌉ units on each. All containers of a pod share one set of GPUs. Init containers hand their devices to the
// containers after them, so a pod holds the larger of the two sums, as in kubelet's own accounting.
//
// # Scores
//
// The policy "growth" scores a GPU by the growth that the new job has there, less what the jobs on it lose:
//
//	score(g)   = 1 / (1 + (slowdown(new) − 1) · mean_{j∈S} present(j)) / short − Σ_{j∈S} growth(j) · present(j) · (1 − 1/slower(j))
//	                − Σ_{j∈N} growth(j) · present(j) · (1 − shorter)
//
//	S, N        the jobs on GPU g, and those on its node
//	growth(j)   growth of job j, 0..1; 1 for a new job, which has all of its training ahead
//	slowdown(j) step time of j on the shared GPU over its step time alone, ≥ 1
//	slower(j)   the same over its step time before the new job came
//	short       the CPU that the jobs of the node can use with the new one, over what it has, ≥ 1; 1 where it is unknown
//	shorter     the same without the new job, over short
//	present(j)  part of the new job's stay in which j is there too: 1 if it is unknown when j ends
//
// A new job is charged only for what it changes. The growth that running jobs lose to one another is not part of its
// score, and a job that is about to end hardly counts: it loses little, and soon leaves its part of the GPU. How long a new job
// stays is unknown. TimeLeft.Stay takes three tenths of what running jobs have left on average, because a job grows most at its beginning.
//
// A job on n GPUs has the n-th part of its growth on each, so the score of a set of GPUs is the sum of the
// scores of its parts, and the best set consists of the best GPUs. Slowdowns come from package interference, by the kinds
// and activities of the jobs, at their mean.
//
// The policies "specon" and "iadeep" are the rules of two published systems, for comparison. "iadeep" predicts slowdowns
// as "growth" does, by what was measured; "iadeep-literal" by the mean of its published pairs alone. "binpack" and "spread"
// prefer the fullest and the emptiest GPU that fits. The score of a node is the score of its best GPUs. Ties between
// GPUs are broken by UUID. A Normalizer maps the scores of all feasible nodes to the extender API's range, 0..10.
package placement
