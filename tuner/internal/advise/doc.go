// Package advise turns what was measured into advice: how many data-loader workers each job should run with.
//
// Adviser decides, purely: per node, it fits a loader.Model to each job's measurements and divides the node's
// LoaderBudget by loader.ChangePolicy. What a job is worth to it is growth × the part of its full speed that it runs at:
// growth is scale-free, samples per second are not (an image is not a sentence), so a job's weight is its growth over
// its compute cap. A job that has not reported its metric yet counts as growing fully, a converged one keeps a small
// worth, so that cores nobody else wants still help it to its end.
//
// Left as they are: jobs that do not let their loaders be tuned (their workers come out of the budget first), jobs
// that never asked for a number of loaders, and jobs measured fewer than two times, unless their node runs more workers than
// its budget. Where that is nothing at all a new job is told so before it asks. Who was told to have none, and is not measured
// after a while, has some again once there are cores.
//
// Loop acts: it writes the advice to the bus, each record only if it is still what was decided upon, and withdraws the
// advice of jobs whose sample has been gone for a minute. Only the leader runs it. It holds nothing that a new leader
// can not pick up from the bus but how long each job has kept its workers, which then starts anew.
package advise
