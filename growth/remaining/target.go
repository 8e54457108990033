package remaining

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// near and final are how many reports make a metric's present and its final value: fewer may be noise.
	presentReports, finalReports = 5, 10
	// almost is the part of the way after which a metric is good.
	targetFraction = 0.95
	// slow is the part of its steps that a job is believed to have made at least, by what its metric has come to.
	minProgress = 0.8
	// later is how many times as many steps as others a job may need.
	maxExtraSteps = 1.1
)

// WorkToTargetAmong is what a job at progress p still needs by the curves of those of others that are Like it, else by its own; like is
// which ones these are, and foretold says that they have come to this one's end: else its need is a guess, too.
func (c *Curve) WorkToTargetAmong(others []Curve, direction growth.Direction, p Progress) (need Estimate, like []int, foretold bool) {
	if like = c.Similar(others, p.Total); len(like) > 0 {
		first := others[like[0]]
		if foretold = first.covers(p.Total); foretold {
			like = slices.DeleteFunc(like, func(i int) bool { return !others[i].trajectory(p.Total).improves(direction) })
			need = c.workToTargetLike(others, like, p)
		} else {
			need = first.WorkToTarget(direction, p)
		}
		if need.Known {
			return need, like, foretold
		}
	}
	return c.WorkToTarget(direction, p), nil, false
}

// needLike is what a job at progress p still needs if it goes on as others' curves have gone to its end: what is left of the
// steps after which they were good, in the mean. Two that are alike may come to that a seventh of it apart, and how close they
// are up to there does not tell which one another will follow. By steps, for they come to ends that are a few per cent
// apart: a job that is as good as another became may be far from its own end, and one that never gets there may have come to it.
// One that is worse than the others were at its step is given up to a quarter more, and any may need a tenth more of the steps.
func (c *Curve) workToTargetLike(others []Curve, like []int, p Progress) Estimate {
	if len(like) == 0 || !(p.StepCost > 0) {
		return Estimate{}
	}
	var good, here float64
	for _, i := range like {
		w := others[i].trajectory(p.Total)
		good, here = good+w.stepAt(targetFraction), here+c.position(w, p)
	}
	good, here = good/float64(len(like)), here/float64(len(like))
	need := func(step float64) growth.CoreSeconds {
		return p.StartupCost + growth.CoreSeconds(max(0, step-here))*p.StepCost
	}
	return Estimate{Low: need(good), Likely: need(good), High: need(max(good, min(maxExtraSteps*good, p.Total))), Known: true}
}

// reached is the step of another's way that a job is at, by the steps it has made and, as far, by what its metric has come to.
func (c *Curve) position(w trajectory, p Progress) float64 {
	if len(c.Points) == 0 {
		return p.Done
	}
	return min(max((p.Done+w.stepAt(w.fractionDone(c.Points)))/2, minProgress*p.Done), p.Done)
}

// way is that of a metric from its first report to the end of a job.
type trajectory struct {
	begin, end float64
	points     []Point // up to there
	total      float64
}

// way is a curve's, for a job that makes total steps.
func (c *Curve) trajectory(total float64) trajectory {
	n := 1
	for n < len(c.Points) && c.Points[n].Step <= total {
		n++
	}
	return trajectory{begin: c.firstValue(), end: c.finalValue(n), points: c.Points[:n], total: total}
}

// improves tells whether the way goes to where the metric is better.
func (w trajectory) improves(direction growth.Direction) bool {
	return (w.begin-w.end)*float64(direction) > 0
}

// made is the greatest part of the way that points have made at any time.
func (w trajectory) fractionDone(points []Point) (most float64) {
	for i := range points {
		if value, reports := presentValue(points[i:]); reports >= presentReports {
			most = max(most, (w.begin-value)/(w.begin-w.end))
		}
	}
	return most
}

// reaches is the step at which a part of the way is made.
func (w trajectory) stepAt(part float64) float64 {
	for i, p := range w.points {
		if value, _ := presentValue(w.points[i:]); (w.begin-value)/(w.begin-w.end) >= part {
			return p.Step
		}
	}
	return w.total
}

// begin is where a curve's way begins: its first report, in which a metric often falls the most.
func (c *Curve) firstValue() float64 {
	if c.First != nil {
		return *c.First
	}
	return c.Points[0].Value
}

// final is the value that a curve has come to before a point.
func (c *Curve) finalValue(point int) float64 {
	first, reports := point, 0
	for first > 0 && reports < finalReports {
		first--
		reports += c.Points[first].Reports
	}
	return mean(c.Points[first:point])
}

// present is a metric's value where points begin, and of how many reports it is the mean.
func presentValue(points []Point) (value float64, reports int) {
	n := 0
	for n < len(points) && reports < presentReports {
		reports += points[n].Reports
		n++
	}
	return mean(points[:n]), reports
}

func mean(points []Point) float64 {
	all := points[0]
	for _, p := range points[1:] {
		all = merge(all, p)
	}
	return all.Value
}
