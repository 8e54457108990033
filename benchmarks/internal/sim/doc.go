// Package sim runs jobs on a machine in virtual time, under the very code that divides a real node (growth/fairfinish,
// growth/flowcon, growth/efficiency): minutes instead of days, and as many repetitions as an honest figure needs.
//
// # Machine
//
// A machine has cores and divides them as Linux divides CPU time: by weight, to nobody more than it can use, nothing idle
// that somebody can use. Work is in core-seconds; a job can use at most its limit of cores at once.
//
// # Jobs
//
// A machine gets as many jobs as could use it ten times over, within 200 s: on one core ten jobs of one core. Alone, each
// would take 32 to 312 s, and 15 to 50 % of that until its metric has made 95 % of its way, exponentially. Where sizes
// are wrong, a job's work and what it needs to 95 % are believed to be up to 30 % more or less than they are; that they
// are reached is seen when it happens. A job that goes on beyond what was believed is expected to need half of what it
// can still need.
//
// Two more machines have jobs whose loss is recorded, of each of the example jobs (recordings/). Nobody tells there when a loss
// is good: the policy learns it from what is reported, by the code of the coordinator (growth/remaining). It is good when
// it has made 95 % of the way that it has made at the job's end. These jobs take a while to their first step, and until then
// nothing is known of their sizes but what another job of the kind tells (learn.go).
//
// # Comparison
//
// Fair sharing, the baseline, is true processor sharing with limits: equal weights at all times, no decisions and no
// interval to wait for. Every other policy decides each 10 s and at arrivals and ends, and has its own jobs of the same
// seed beside it. Means are over seeds, with 95 % intervals; a job is harmed when it ends more than 5 % later.
//
// Two of them are no policies for a node: known.go knows all sizes and promises nothing, and so tells what there was to be had.
package sim
