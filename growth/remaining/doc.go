// Package remaining predicts how much work a training job still has to do. It makes two predictions:
//
//   - the remaining work: to the end of the job
//   - the work to target: until the metric has made 95 % of its total improvement
//
// Package fairfinish divides a node's CPU or the time of its GPUs by them. Work is in core-seconds or in GPU-seconds, and
// each record and each prediction carries its unit.
//
// # Remaining work
//
// Where a job declares its total number of steps, the remaining work is the remaining steps times the measured cost of
// a step. FromDeclared handles a declared total that may be wrong.
//
// Before its first step a job has no measured cost. Profile.Predict then uses the Profile of another run of the same
// program: the number of steps, the startup cost and the cost of a step. The lower end of the interval is 75 % of the
// prediction. From that point on at the latest, the job receives at least its fair share and reveals its own cost.
//
// Where no total is known, Curve.RemainingWork extrapolates the metric: the job ends when the metric has made 99 % of
// its improvement. The user may stop it at any time, so the interval spans 97 % to 99.9 %.
//
// # Work to target, from similar jobs
//
// The beginning of a curve does not show that a plateau will end. Other runs of the same program do. Curve.Similar
// selects the curves that are close to the job's own and reach the job's end. If there is none, it selects the closest
// curve that is longer. Curve.WorkToTargetAmong averages the steps at which these curves reached the target. The caller
// chooses which runs to offer. A curve stops being similar once its mean distance exceeds 10 % of its total
// improvement.
//
// # Work to target, from the job's own curve
//
// A Curve collects the metric E over the steps x. The model is E(x) = c + a·s(x/τ), with two shapes:
//
//	s(u) = exp(−u)     exponential: each step removes a constant fraction of the distance to the final value
//	s(u) = 1/(1+u)     power law: the fraction shrinks with every step
//
//	x    steps since the start          c    final value of the metric, in its unit
//	τ    scale, in steps                a    amplitude, in the metric's unit
//	u    x/τ, dimensionless             s    fraction of the improvement that is missing, 0..1
//
// For each τ of a grid, c and a follow from a weighted linear regression. A second pass reduces the weight of outliers
// (Huber). The likely value is the geometric mean over all shapes and scales, weighted by likelihood: early in
// training, a curve that levels off soon looks like one that never does. The interval spans all fits whose squared
// error is not significantly larger than the best one's (profile likelihood). A curve is unknown if its best fit is not
// significantly better than a constant, or if it moves in the wrong direction.
//
// The target depends on τ and the shape alone: it is the x at which s has made 95 % of its improvement until the job's
// end, or of its total improvement if the end is unknown. The tolerance of this interval is eight times as large. If a
// job is wrongly assumed to have reached its target, it waits behind all others with little work left.
//
// # Declared targets
//
// A user may declare a value of the metric as the target. Curve.Reached reports whether the metric has come to it for
// good, and Curve.WorkToValue predicts when the fitted model does. A fit that levels off before the value never gets
// there. If most fits do not, the work is unknown.
//
// A job whose curve says nothing yet gets TypicalWorkToTarget, 40 % of its whole work.
//
// # Accuracy
//
// TestCurve_WorkToTargetCoverage prints the figures: halfway to the target, with noise of 5 % of the total improvement
// and 2 % outliers, the interval contains the true value for all of 100 synthetic curves. The likely value is off by 17
// % for a power law, and too large by a factor above 2 for an exponential, which does not level off visibly at that
// point. "make sim" measures the accuracy on recorded losses of real jobs.
//
// A late drop of the learning rate improves the metric again. No fit predicts this; only the wide interval allows for
// it. A warm restart, or a restart of the container, starts a new curve.
package remaining
