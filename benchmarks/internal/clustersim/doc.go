// Package clustersim runs training jobs on the CPUs of a cluster in virtual time, and compares ways to place, share and move
// them. What decides is what ships: growth/placement, the state machine of a node (growth/node), and for moves growth/rebalance and
// growth/move.
//
// # Jobs and workers
//
// The schedules are SpeCon's: 20 VAE jobs, one every 50 s; 20, 30 and 50 jobs of five models at random times; on 4 or 8
// workers. Losses are those of the example jobs as recorded (package sim). Work and the part of a worker that a job can use
// alone are invented for each model, such that default scheduling has about the mean completion and the makespan that SpeCon
// reports for it. A worker has 16 CPUs, as SpeCon's.
//
// # Systems
//
//	default          kube-scheduler spreads the pods; the CPU is shared fairly; nothing moves
//	specon-literal   the same, and Algorithms 3 to 5 as published, with the repairs that package specon lists; the loss is
//	                 relative to its first value, since theirs do not exceed 1 and ours do
//	specon           the same with the corrected algorithms, and categories by the shipped classifier
//	trellis          placement by growth, the shipped policy on each node, and automatic moves
//	trellis, placed as default; the same without moves; fair shares, moves that pay      show which part does what
//	default, drawn again    other draws between equal workers: how much the end of a job depends on luck
//
// Besides, the jobs run on one machine with the CPUs of all workers, which serves the jobs with the least remaining work first,
// as if moves were free (Pooled). It is about the best mean completion that any system can reach. No makespan is below Bound: the
// end of each job alone, and what all CPUs need for the work that arrives from any time on.
//
// # Moves
//
// A move takes a job off its worker for 5 to 11 s, 8 s on average: save, evict, place, restore. It is the same for all systems,
// and longer than the less than 5 s that SpeCon reports. Its record goes through the states of package move, each at its time, and
// nothing goes wrong. The division into parts is invented.
//
// Automatic moves are decided by package rebalance from what the extender knows: the samples of jobs, the records of moves in
// flight, and the histories of moves that have ended. So at most one move begins every 10 s and two are in flight, a worker that a
// job moves from or to takes no part, and the cost of a move is that of earlier moves of the job or of its program, or assumed. What
// is simpler than on a cluster:
//
//   - Samples have no age. A job has none in its first 5 s on a worker. Its size and the part of the worker that it can use are known.
//   - A job has a checkpoint that all workers can read. Nothing forbids its eviction, and it fits everywhere. No pod is pending, so
//     no job moves to make room.
//
// SpeCon expects 10 s of a move. It has no check that the target has room for a job: specon-literal because the paper has none, specon
// because any number of jobs fits on a worker here. A job that SpeCon moves keeps its category for 60 s, until its new node has
// observed it.
//
// # Events
//
// A cluster is a queue of workers, ordered by when something may happen to them (queue.go). At each event only those workers are computed
// to which something happens: a decision is due, or a job ends, arrives or leaves. What the extender knows about a worker, and its score
// for a new job, are kept until it changes. All others catch up later, interval by interval, so that their sums have the rounding of
// a simulation that computes every worker at every event (worker.catchUp). Golden digests show that.
//
// # Large clusters
//
// RunLarge runs 10,000 jobs on 1,000 workers with 8 GPUs each, whose time is divided: jobs are those of package sim on GPUs, any number
// of which fits on a GPU. It is about what the simulation costs, and compares nothing.
//
// # Figures
//
// Each system is compared with default on the same jobs. A job is slower if it ends more than 1 % later, and harmed if it ends
// more than 5 % later. Balance is the standard deviation of the workers' CPU utilization, averaged over time.
package clustersim
