// Package trial decides whether a job keeps an advised batch size. A trial offers the size, observes the job, and rolls
// back if the job gets worse.
//
// A trial compares observations, one per interval. The last three before the job takes the size give the baseline: throughput
// in samples/s and the value of the metric. They must be consecutive and have equal batch sizes and loaders. Without a
// baseline nothing is offered. The same holds for a job that never reported its batch size, because the trial could not
// be rolled back.
//
//	offered   until the job reports the new size, which may take an epoch; the advice and the loaders may still change
//	trying    the first observation mixes both sizes and is skipped, the next three are compared with the baseline
//	back      after a rollback, until the job reports the old size
//
// # Rollback
//
// A trial is rolled back if
//
//   - the throughput falls below 90 % of the baseline; a smaller share of what limits the job, the CPU or the time of its GPUs,
//     lowers the limit in proportion. If the noise of the job's gradients is known, throughput is weighted by what a sample is worth at that size (package goodput)
//   - the metric is worse by more than 10 % and by more than twice its variation in the baseline
//   - the metric was reported in each observation of the baseline, and is no longer reported, or not finite
//   - the job reports nothing for twelve observations. Evaluations and saves are silent for less, and a pause does not count
//   - the job restarts, for example because it ran out of memory
//
// A size that was rolled back is not offered to the job again, nor is a size further away in the same direction. The exceptions are a
// job that was silent, and one whose loaders have changed with its size, as both may at the end of an epoch: the size may not be the
// reason. A job that moves starts again with the earlier size, and may try the other one there (Moved).
package trial
