package remaining

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Point is the mean of several reports of a metric.
type Point struct {
	// Step is the number of steps since the job or the curve started.
	Step  float64 `json:"step"`
	Value float64 `json:"value"`
	// Reports is the number of reports in the mean.
	Reports int `json:"reports"`
}

// Curve is a metric over the steps of a job. The x-axis is steps and not work: work is known per interval, and a job
// with a core of its own makes hundreds of steps in one, which can span the steepest part of the curve.
//
// The zero value is an empty curve. A Curve survives a restart as JSON.
type Curve struct {
	Points []Point `json:"points,omitempty"`
	// First is the first report, which Points contain only as part of a mean. It is nil in a curve from an older
	// coordinator.
	First *float64 `json:"first,omitempty"`
}

const (
	// maxPoints bounds the size of a curve.
	maxPoints = 64
	// headDensity controls how much finer the beginning of a curve is: points at its end are 1+2·headDensity times as
	// far apart.
	headDensity = 4
)

// Add adds a report. It ignores a report that is not finite or whose step goes backwards.
func (c *Curve) Add(step, value float64) {
	if !(step >= 0) || math.IsInf(step, 0) || math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	last := len(c.Points) - 1
	if last >= 0 && step < c.Points[last].Step {
		return
	}
	if last < 0 {
		c.First = &value
	}
	c.Points = append(c.Points, Point{Step: step, Value: value, Reports: 1})
	if len(c.Points) > maxPoints {
		c.compact()
	}
}

// compact merges the two neighbours that are closest relative to their position. A metric improves most near the
// beginning, so points may be closer together there.
func (c *Curve) compact() {
	closest := 0
	least := math.Inf(1)
	for i := range len(c.Points) - 1 {
		a, b := c.Points[i].Step, c.Points[i+1].Step
		distance := (b - a) / (a + b + c.lastStep()/headDensity)
		if distance < least {
			closest = i
			least = distance
		}
	}
	c.Points[closest] = merge(c.Points[closest], c.Points[closest+1])
	c.Points = slices.Delete(c.Points, closest+1, closest+2)
}

// Thinned returns the curve with at most the given number of points, at least two.
func (c Curve) Thinned(points int) Curve {
	c.Points = slices.Clone(c.Points)
	for len(c.Points) > max(points, 2) {
		c.compact()
	}
	return c
}

// Reset empties the curve because the job starts from the beginning.
func (c *Curve) Reset() { *c = Curve{} }

// merge returns the mean of two points, weighted by their reports.
func merge(a, b Point) Point {
	n := float64(a.Reports + b.Reports)
	wa, wb := float64(a.Reports)/n, float64(b.Reports)/n
	return Point{
		Step:    wa*a.Step + wb*b.Step,
		Value:   wa*a.Value + wb*b.Value,
		Reports: a.Reports + b.Reports,
	}
}

// Progress is the position of a job in its run.
type Progress struct {
	// Done is the number of completed steps, Total the number of all steps; 0 if unknown.
	Done, Total float64
	// StepCost is the work of one step, StartupCost the work that remains before the first one.
	StepCost, StartupCost growth.Work
	// Unit is the unit of the costs, and of estimates from them.
	Unit growth.Unit
}

// WorkToTarget estimates the work until the metric has made 95 % of its improvement until the job's end, or of its
// total improvement if the end is unknown.
func (c *Curve) WorkToTarget(direction growth.Direction, p Progress) Estimate {
	return c.estimate(direction, p, fractions{low: 0.95, likely: 0.95, high: 0.95}, targetTolerance*tolerance)
}

// RemainingWork estimates the work to the end of a job that has not declared a total.
func (c *Curve) RemainingWork(direction growth.Direction, p Progress) Estimate {
	p.Total = 0
	return c.estimate(direction, p, fractions{low: 0.97, likely: 0.99, high: 0.999}, tolerance)
}

// fractions are the fractions of the improvement that define the three values of an estimate.
type fractions struct {
	low, likely, high float64
}

// estimate estimates the work until the metric has made the given fractions of its improvement. It uses all fits whose
// error is within tolerance of the best fit's.
func (c *Curve) estimate(direction growth.Direction, p Progress, at fractions, tolerance float64) Estimate {
	if !(p.StepCost > 0) {
		return Estimate{}
	}
	low := math.Inf(1)
	high := 0.0
	sumLikelihood, sumLog := 0.0, 0.0
	for _, f := range c.fit(direction, tolerance) {
		low = min(low, f.stepsTo(at.low, p.Total))
		high = max(high, f.stepsTo(at.high, p.Total))
		sumLikelihood += f.likelihood
		sumLog += f.likelihood * math.Log(f.stepsTo(at.likely, p.Total))
	}
	if sumLikelihood == 0 {
		return Estimate{}
	}
	likely := math.Exp(sumLog / sumLikelihood)
	likely = min(max(low, likely), high) // rounding may move it out of the interval
	work := func(steps float64) growth.Work {
		return p.StartupCost + growth.Work(max(0, steps-p.Done))*p.StepCost
	}
	return Estimate{
		Low:    work(low),
		Likely: work(likely),
		High:   work(high),
		Known:  true,
		Unit:   p.Unit,
	}
}
