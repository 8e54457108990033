package remaining

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Point is the mean of some reports of a metric.
type Point struct {
	// Step is how many steps the job had made by then, since it, or the curve, began.
	Step  float64 `json:"step"`
	Value float64 `json:"value"`
	// Reports are how many it is the mean of.
	Reports int `json:"reports"`
}

// Curve is a metric against the steps that were made. Steps, and not what they cost: that is known of an interval, in which a
// job that has a core for itself makes hundreds, and the best of a curve may be over in one. Its zero value is empty; as
// JSON it survives a restart.
type Curve struct {
	Points []Point `json:"points,omitempty"`
	// First is the first report, which Points hold only in a mean; nil in a curve kept by an older coordinator.
	First *float64 `json:"first,omitempty"`
}

const (
	// most points are kept, however long a job runs.
	maxPoints = 64
	// finer is how much finer the beginning is kept: points at the end lie 1+2·finer times as far apart.
	headDensity = 4
)

// Add takes in a report. One that is not finite, or whose step goes backwards, says nothing and is left out.
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
	if c.Points = append(c.Points, Point{step, value, 1}); len(c.Points) > maxPoints {
		c.compact()
	}
}

// thin merges the two neighbours that lie closest for where they lie: most of a metric's way is near the beginning.
func (c *Curve) compact() {
	closest, least := 0, math.Inf(1)
	for i := range len(c.Points) - 1 {
		a, b := c.Points[i].Step, c.Points[i+1].Step
		if d := (b - a) / (a + b + c.lastStep()/headDensity); d < least {
			closest, least = i, d
		}
	}
	c.Points[closest] = merge(c.Points[closest], c.Points[closest+1])
	c.Points = slices.Delete(c.Points, closest+1, closest+2)
}

// Reset forgets the curve: the job has begun anew.
func (c *Curve) Reset() { *c = Curve{} }

func merge(a, b Point) Point {
	n := float64(a.Reports + b.Reports)
	wa, wb := float64(a.Reports)/n, float64(b.Reports)/n
	return Point{Step: wa*a.Step + wb*b.Step, Value: wa*a.Value + wb*b.Value, Reports: a.Reports + b.Reports}
}

// Progress is how far a job is: steps that it has made, steps that it will make, 0 where that is not known, what a step
// costs, and what is to be done before the first one.
type Progress struct {
	Done, Total           float64
	StepCost, StartupCost growth.CoreSeconds
}

// WorkToTarget is the work until the metric has made 95 % of the way that it will have made at the job's end, or ever, where that
// is not known.
func (c *Curve) WorkToTarget(direction growth.Direction, p Progress) Estimate {
	return c.estimate(direction, p, [3]float64{0.95, 0.95, 0.95}, targetTolerance*tolerance)
}

// RemainingWork is the work to the end of a job that has declared no total.
func (c *Curve) RemainingWork(direction growth.Direction, p Progress) Estimate {
	p.Total = 0
	return c.estimate(direction, p, [3]float64{0.97, 0.99, 0.999}, tolerance)
}

// estimate is the work to three parts of the way, at least, likely and at most, by the curves that fit within a spread.
func (c *Curve) estimate(direction growth.Direction, p Progress, parts [3]float64, spread float64) Estimate {
	if !(p.StepCost > 0) {
		return Estimate{}
	}
	low, high, odds, logs := math.Inf(1), 0.0, 0.0, 0.0
	for _, f := range c.fit(direction, spread) {
		low = min(low, f.stepsTo(parts[0], p.Total))
		high = max(high, f.stepsTo(parts[2], p.Total))
		odds += f.likelihood
		logs += f.likelihood * math.Log(f.stepsTo(parts[1], p.Total))
	}
	if odds == 0 {
		return Estimate{}
	}
	likely := min(max(low, math.Exp(logs/odds)), high) // which rounding may leave
	from := func(x float64) growth.CoreSeconds {
		return p.StartupCost + growth.CoreSeconds(max(0, x-p.Done))*p.StepCost
	}
	return Estimate{Low: from(low), Likely: from(likely), High: from(high), Known: true}
}
