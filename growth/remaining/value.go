package remaining

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// reachedPoints and reachedReports are the numbers of points and of reports whose median must be at a value. Points of a
	// long curve are means, so that noise does not reach the value early; the median ignores a single wrong report.
	reachedPoints, reachedReports = 3, 5
	// maxAhead bounds a prediction without a known total, as a factor of the steps so far.
	maxAhead = 100
)

// Reached reports whether the metric has reached a value and not only touched it.
func (c *Curve) Reached(value float64, direction growth.Direction) bool {
	var last []float64
	reports := 0
	for _, p := range slices.Backward(c.Points) {
		if len(last) >= reachedPoints && reports >= reachedReports {
			break
		}
		last = append(last, p.Value*float64(direction))
		reports += p.Reports
	}
	if len(last) < reachedPoints || reports < reachedReports {
		return false
	}
	slices.Sort(last)
	return last[len(last)/2] <= value*float64(direction)
}

// WorkToValue estimates the work until the metric reaches a value that it has not reached yet. It is unknown if the curve
// does not show that the metric will.
func (c *Curve) WorkToValue(value float64, direction growth.Direction, p Progress) Estimate {
	if !(p.StepCost > 0) {
		return Estimate{}
	}
	longest := maxAhead * c.lastStep()
	if p.Total > 0 {
		longest = max(p.Total, p.Done+1)
	}
	low, high := longest, 0.0
	sumLikelihood, reaches, sumLog := 0.0, 0.0, 0.0
	for _, f := range c.fit(direction, targetTolerance*tolerance) {
		steps := max(f.stepsToValue(value), p.Done+1)
		sumLikelihood += f.likelihood
		if steps <= longest {
			reaches += f.likelihood
			sumLog += f.likelihood * math.Log(steps)
		}
		low = min(low, steps)
		high = max(high, min(steps, longest))
	}
	if !(reaches > sumLikelihood/2) {
		return Estimate{}
	}
	likely := min(max(low, math.Exp(sumLog/reaches)), high) // rounding may move it out of the interval
	work := func(steps float64) growth.Work { return p.StartupCost + growth.Work(steps-p.Done)*p.StepCost }
	return Estimate{
		Low:    work(low),
		Likely: work(likely),
		High:   work(high),
		Known:  true,
		Unit:   p.Unit,
	}
}

// stepsToValue returns the number of steps after which the curve has a value; infinite if it never has.
func (f fit) stepsToValue(value float64) float64 {
	missing := (value - f.final) / f.amplitude
	if !(missing > 0) {
		return math.Inf(1)
	}
	return max(0, f.stepsUntil(missing))
}
