// Package sim runs jobs on a machine in virtual time, under the state machine that decides on a real node (growth/node). A
// study of many seeds takes minutes instead of days.
//
// # Machine
//
// A machine has cores and divides them as Linux divides CPU time: by weight, to no job more than it can use, and no core is
// idle that some job can use. Work is in core-seconds. A job can use at most its limit of cores at once.
//
// # Jobs
//
// A machine gets as many jobs as could use it ten times over, within 200 s: on one core ten jobs of one core. Alone, each
// would take 32 to 312 s. Its metric makes 95 % of its improvement in 15 to 50 % of that time, exponentially. The node
// receives the sizes (node.ForecastProvided). Wrong sizes differ from a job's true work and work to target by up to 30 %;
// the target and the end themselves are observed. A job that exceeds its declared work is expected to need half of its
// remaining maximum.
//
// Two more machines have jobs with recorded losses, of each of the example jobs (recordings/). The node receives a job's
// whole work from its first step on. It learns the cost of a step and the work to target from reports, as on a real node.
// The target is 95 % of the loss's improvement by the job's end. These jobs take a while to their first step. Until then,
// only other jobs of the kind predict their sizes; on the last machine, so do runs on other nodes (node.RunsProvided).
//
// # GPUs
//
// Four machines have one, two and eight GPUs whose time is divided, with ten jobs per GPU. A third of the jobs waits for
// data in up to half of the time. A job on several GPUs counts as so many of the ten. Work is in GPU-seconds, and the baseline is
// plain sharing: all jobs of a GPU compute at all times.
//
// # Workloads
//
// A machine of any number of cores or GPUs gets exactly the jobs of a workload (Listed) instead. Their work is that of the example
// jobs, on a core or a GPU of the same speed. A job on several GPUs is placed on the least loaded neighbouring ones.
//
// # Comparison
//
// Fair sharing, the baseline, is true processor sharing with limits: equal weights at all times, without decisions or
// intervals. Under every other policy a node decides every 10 s and at arrivals and ends, on the same jobs of the same seed.
// Weights change at once and at no cost, so the node's damping is off (node.Damping). Means are over seeds, with 95 %
// intervals; a job is harmed if it ends more than 5 % later.
//
// Two policies are upper bounds, not policies for a node: known.go knows all sizes and guarantees nothing.
package sim
