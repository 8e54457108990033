// Package efficiency computes a job's growth efficiency and its category from its progress reports. It is the only
// classifier: both shares (FlowCon) and moves (SpeCon) use its categories.
//
// A sample is the mean of the reports since the previous sample. For each sample,
//
//	Ẽ  = 0.3·E + 0.7·Ẽ                        smoothed metric, in the metric's unit
//	P  = max(0, dir·(Ẽ_best − Ẽ)) / Δt        progress, metric/s                     FlowCon eq. 4.1
//	G  = P / max(cores in use, 0.05)          growth efficiency, metric/Work         FlowCon eq. 4.2
//	Gp = max(0.999·Gp, G)                     decaying peak of G, metric/Work
//	g  = G / Gp                               growth, 0..1, dimensionless
//
//	E    metric that the job reports             dir  +1 to minimise, −1 to maximise
//	Δt   time since the previous sample, in s    α    threshold of growth, 0..1
//
// Where the time of GPUs is divided, GPUs take the place of cores: Work is then in GPU-seconds (growth.Unit).
//
// Two consecutive samples with g < α demote a job by one category: from Progressing to Watching, from Watching to
// Converged. One sample with g > 1.5·α makes it Progressing again.
//
// # Departures from the FlowCon thesis
//
//   - The thesis uses |ΔE|, which counts noise as progress. Here progress is signed, uses the smoothed metric, and is
//     measured against the best value, so an oscillating metric is not growth.
//   - The thesis compares G with α, which depends on the scale of the loss. Here g is compared, which does not.
//   - In the thesis one low interval demotes a job. Here it takes two, and the way back takes 1.5·α.
//   - Efficiency per CPU alone decides, as in the evaluation of the thesis. The efficiencies per memory, block I/O and
//     network I/O are published only.
//
// # Intervals without a sample
//
// A report that is not finite is rejected. An interval without a report has no sample: silence is not evidence, and a
// job that has reported nothing stays Progressing. If no time has passed since the previous sample, the reports count
// in the next one.
//
// # Restarts and relapses
//
// A job that continues from a checkpoint (ResumeAt) keeps category, peak and samples. The best value starts again.
//
// Any other step that goes backwards is a restart. Smoothing and best value start again; peak and category remain. A job that
// starts over therefore grows at once, and a job that resumes near its end does not count as a new one.
//
// The best value also starts again after a relapse: two consecutive samples that lose 20 % of all improvement and five
// times the usual noise. Causes are a warm restart of the learning rate and a new phase of training. Measured against
// its old best, such a job would not grow until it has caught up. A learning rate that steps down needs no rule: its
// gain shows against the best value.
//
// # Changes of scale
//
// A value at least ten times outside the range of all values before, and ten times outside the usual differences, is held
// back. If the next three stay within a factor of three of it, the metric has another scale: the state is multiplied by the
// ratio of the levels. Otherwise the values count as usual. Ten reports must precede the jump, because a metric may fall
// by any factor in its first steps.
package efficiency
