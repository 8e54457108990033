// Package trial decides whether a job keeps a batch size that it was advised: it is offered, watched, and taken back where
// the job is worse off.
//
// A trial goes by looks, one an interval. The last three before it say how many samples a second the job made and what
// its metric was; without three in a row with the same batch size and the same loaders there is none, and none either
// where the job tells neither how many samples it makes nor its metric, or never said what batch size it runs with: there
// would be nothing to compare with, or nothing to go back to.
//
//	offered   until the job says that it runs with it. That may take an epoch, and meanwhile the wish may still change
//	trying    the first look is of both and does not count; then three do
//	back      worse than before: the old size is offered until the job says that it runs with it
//
// # What is worse
//
// Samples a second below nine tenths of what they were, or as much less as the job's share of the CPU is less: a share that
// shrinks is no fault of the batch size. A metric that is worse than it was by more than a tenth of it, and by more than
// twice what it varied by before. A metric that is not reported any more, or not finite, which is the same. No report at
// all for three looks, and a restart: it may have run out of memory.
//
// A size that made a job worse is not offered to it again, and neither is one that is further away on the same side.
package trial
