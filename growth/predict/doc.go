// Package predict predicts the time of a training iteration from what a job reports before it runs, and corrects the
// prediction by the first iterations.
//
// # Before the first iteration
//
// Extremely randomised trees (Geurts et al., 2006) predict the time from the logarithms of batch size, floating-point operations,
// parameters and allocation, and from their ratios. The ratio of operations to parameters identifies a family of models well, so no
// family has to be reported. Half of the trees learn seconds. The others learn the logarithm of the deviation from a simple
// law: the time is proportional to the batch size, and to the inverse square root of the granted CPU. Trees do not depend on
// units and do not extrapolate. The prediction is the geometric mean of the medians of both halves: splits by seconds part
// the slow from the slowest, where relative errors cost most, and splits by logarithms the fast from the fastest.
//
// Each tree learns from four fifths of the jobs. A job's prediction by the trees that have not seen it shows how well
// new jobs are predicted, and so does everything that is derived from it below. Whole jobs are left out: the repetitions
// of one job are alike.
//
// # After some iterations
//
// The error of a prediction, in logarithms, is the sum of three parts with normal distributions:
//
//	job         the same under every allocation
//	allocation  the same for all iterations of a job under one allocation
//	noise       of one observation
//
// Their variances come from the jobs that were learned. Observations of a job determine its first two parts, as far as
// the variances allow (hierarchical shrinkage). An observation under one allocation improves predictions for others.
//
// # Intervals
//
// An interval is the deviation that the variances give, scaled so that it contains 80 % of what was learned, each job
// predicted by trees that have not seen it (conformal prediction). There is one scale for each number of observations.
//
// # Bad input
//
// Samples outside the bounds of this package are ignored, unknown features take the median of the learned jobs. The
// times of repeated samples count by their median, and those of an implausible job only up to a bound. An observation
// moves a prediction by a bounded factor; only several that agree move it further.
package predict
