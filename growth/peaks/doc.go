// Package peaks predicts the largest CPU use, memory and GPU memory of a job, and recommends requests.
//
//	readings ─> Profile (coordinator) ─> Forecast (tuner) ─> Recommend ─> requests with intervals
//	runs of similar jobs, described models ─> Prior ──┘
//
// # GPU memory
//
// The driver says what the processes of a job have on a GPU, with their contexts. Where it does not, as without its library,
// the framework's own reports count, with an allowance for a context. A recommended request is never below either.
//
// # Observations
//
// A Profile has the largest use in each of at most MaxBlocks blocks of equal length. When they are full, pairs of blocks
// become one block of double the length, so a profile has a bounded size and covers the whole run.
//
// # From the job's own observations
//
// After n blocks the largest use of m further blocks exceeds the one so far with the probability 1 − exp(−m/n) if all
// blocks are alike. How far is an exponential distribution, as extreme-value theory has it for the excess over a high
// threshold. Its mean is learned from how far each new maximum exceeded the one before. A rising use, such as a leak, adds
// its trend, if most pairs of blocks agree about it. The first half of the blocks counts for neither: a job that starts
// only grows.
//
// # From other jobs
//
// A Prior is a log-normal distribution of the largest use: that of earlier runs of the program, or the prediction of package
// predict from what the job says about its model. The logarithms of the quantiles of both distributions are averaged by their
// precisions. A prior that the job has already exceeded counts for nothing.
//
// # Time of a step
//
// What is learned and predicted is the cost of a step, in core-seconds or GPU-seconds, because its time depends on the share that the
// job had. The predicted time is the cost divided by what the job uses at present. The last steps of the job itself correct the
// prediction, each by as much as jobs differ and as times vary.
//
// # Intervals
//
// An interval contains 80 % of such peaks. It starts at the largest use so far, if the job may well not exceed that.
//
// # Bad input
//
// Readings outside the bounds of this package are ignored. A single huge reading raises the peak, because it may be true,
// but counts for the growth of further peaks only up to a bound.
package peaks
