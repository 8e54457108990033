// Package remaining predicts how much work a training job still needs, in core-seconds: to its end (left), and to the
// point where its metric has made 95 % of its way (need). It is what growth/fairfinish decides on.
//
// # From a declared total
//
// Where a job says how many steps it will make, left is those steps times what a step has cost. Declared is for a total
// that may be wrong.
//
// # From jobs like it
//
// What no fit of a beginning foresees, such as that a plateau ends, other runs of the same program tell. Like picks the
// curves close to a job's own that go to its end, or else the closest that goes further; NeedAmong is what is left of the steps
// after which those had made 95 % of their way to the job's end, in the mean. Which jobs are offered is for the caller to say;
// one that is not alike after all is dropped once its curve is a tenth of its way off.
//
// A Whole tells even of a job that has not made a step yet, and whose size would else not be known while it begins, how many
// steps it will make, what it takes to the first one, and what each will cost. Its interval reaches down to half of that: by
// then, at the latest, such a job gets what fair sharing gives it, and can show what its own steps cost.
//
// # From the curve
//
// A Curve collects the metric E against the steps x that were made, every report of it, and fits E(x) = c + a·s(x/τ), with
// two shapes:
//
//	s(u) = exp(−u)        what is missing falls by the same part with each step
//	s(u) = 1/(1+u)        a power law: it falls ever more slowly
//
// For each τ of a grid, c and a are a linear regression, done twice: the second time points that lie far off count
// little, so that a few wild reports decide nothing. The likely result is the geometric mean over all τ and both shapes,
// by their likelihood: early on, a curve that levels off soon and one that never does look the same. All whose squared error
// is not significantly greater (a profile likelihood) span the interval; TestCoverage measures how often it holds the truth. A curve whose fit is not
// significantly better than no change at all, or that goes the wrong way, is not known.
//
// need follows from τ and shape alone: the x at which s has made 95 % of the way that it will have made at the end of the
// job, or ever, where the end is not known; times what a step costs. Its interval is eight times as generous: a job that is
// taken for good too soon waits behind all others, with little missing. left, where no total was declared, is the work to
// 99 % of the way: nobody can know when a user will stop, so its interval reaches from 97 to 99.9 %.
//
// Before a curve says anything, its own or another's, a job whose end is known is Presumed to need two fifths of its whole work.
//
// How good that is: half-way to 95 %, with noise of 5 % of the whole way and a wild report in fifty, the interval holds
// the truth in all of 100 synthetic curves; the likely value is 17 % off for a power law, and more than twice too much for
// an exponential, whose levelling off can not be seen yet. TestCoverage prints the figures. What it is worth on the losses
// of real jobs, whose learning rate falls in steps, make sim tells ("recorded losses").
//
// A learning rate that drops late, and lets the metric fall once more, is not foreseen, only doubted. A warm restart or a
// container's begins a new curve.
package remaining
