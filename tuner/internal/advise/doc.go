// Package advise decides how many data-loader workers each job should use, and publishes this number as advice.
//
//	history.Snapshot ─> Adviser: fit a model per job, divide the budget per node ─> Change ─> Controller ─> bus
//
// Adviser is pure. For each node it fits a loader.Model to each job's measurements and divides the node's
// LoaderBudget by loader.ChangePolicy. Nodes that a job spans are divided together. loader.Reallocate limits changes to
// arrivals and departures. The objective is the sum over jobs of growth times the fraction of full speed.
// Growth is scale-free; samples per second are not, because a sample can be an image or a sentence. A job that has
// not reported its metric counts with full growth. A converged job keeps a small weight and gets cores that no other
// job needs.
//
// Three kinds of jobs get no advice: jobs that do not allow tuning of loaders, whose workers are subtracted from the
// budget first; jobs that report no number of workers; and jobs with fewer than two measurements, unless their node
// exceeds its budget. On a node without a budget, a new job is advised to use no workers before it reports any. A job
// without workers and without measurements gets workers again when cores are free.
// Advice to a job that never reports a number is not followed, so no core is kept for it.
//
// Controller writes each record only if it is unchanged since the decision. It withdraws the advice of jobs whose
// sample has been missing for a minute. Only the leader runs it. A new leader, or one that leads again, reads all state
// from the bus, except for how long each job has kept its number of workers, has been offered its batch size, or has
// been missing: these times start again.
package advise
