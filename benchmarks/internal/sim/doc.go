// Package sim runs jobs on a machine in virtual time, under the state machine that decides on a real node (growth/node):
// minutes instead of days, and as many repetitions as an honest figure needs.
//
// # Machine
//
// A machine has cores and divides them as Linux divides CPU time: by weight, to no job more than it can use, and no core is
// idle that some job can use. Work is in core-seconds. A job can use at most its limit of cores at once.
//
// # Jobs
//
// A machine gets as many jobs as could use it ten times over, within 200 s: on one core ten jobs of one core. Alone, each
// would take 32 to 312 s, and 15 to 50 % of that until its metric has made 95 % of its way, exponentially. Their sizes are
// given to the node (node.ForecastProvided). Where sizes are wrong, a job's work and its work to 95 % are believed to be up
// to 30 % more or less than they are; that they are reached is seen when it happens. A job that continues beyond what was
// believed is expected to need half of what it can still need.
//
// Two more machines have jobs with recorded losses, of each of the example jobs (recordings/). From a job's first step on its
// whole work is given. The node learns what a step costs and when the job reaches its target from its reports, as on a real
// node. The target is 95 % of the way that the loss has made at the job's end. These jobs take a while to their first step.
// Until then, only other jobs of the kind predict their sizes, on the last machine also runs on other nodes
// (node.RunsProvided).
//
// # Comparison
//
// Fair sharing, the baseline, is true processor sharing with limits: equal weights at all times, no decisions and no
// interval to wait for. Under every other policy a node decides each 10 s and at arrivals and ends, on the same jobs of the
// same seed. Weights change at once and at no cost, so that the node's damping is off (node.Damping). Means are over seeds,
// with 95 % intervals; a job is harmed when it ends more than 5 % later.
//
// Two policies are none for a node: known.go knows all sizes and promises nothing, and so shows what was to be gained.
package sim
