// Package placementsim places jobs on GPUs in virtual time, by the policies of the extender (growth/placement), and compares
// the mean completion times.
//
// # Jobs
//
// 40 jobs arrive within a window. Each is of one of several kinds, needs 32 to 312 s alone on a GPU, and makes 95 % of its
// improvement in 15 to 50 % of that time, exponentially. Its GPU memory is that of its kind. A job that fits nowhere waits;
// whenever a job ends, waiting jobs are tried in the order of their arrival. Completion counts from arrival.
//
// # GPUs
//
// How much two kinds slow each other down comes from a table (Speeds). In a set of more jobs, the increases of a job's step
// time add up:
//
//	slowdown(j | S) = 1 + Σ_{k∈S} (slowdown(j | k) − 1)
//
// Two ways of sharing a GPU are simulated. With plain sharing, all jobs compute all the time, at these speeds. With turns,
// they do so only if their speeds sum to more than 1.05. Otherwise each of n jobs has 1/n of the time, at full speed.
//
// # Placement
//
// Nodes are scored and jobs are placed by the code of the extender, with its 0 to 10 points. kube-scheduler draws among the
// nodes with most points. Exclusive GPUs are requests of all memory of a GPU. Running jobs report when they expect to end, by
// sizes that are wrong by up to 30 %, and the activities of their kinds, if the table has them. IADeep's rule without a model
// (iadeep-literal) knows jobs by activities alone; without them it only counts jobs. IADeep's code looks the whole set up in a
// table of first measurements, and takes a constant for a set that it has not measured.
//
// The learned model knows nothing at the start. Every GPU measures the speeds of a set of jobs that has been together for
// 20 s, with errors of 5 %, and repeats this. The tuner's learner takes the measurements, and publishes a model every 60 s.
// As an upper bound, one policy starts with the model of other jobs of the same kinds.
package placementsim
