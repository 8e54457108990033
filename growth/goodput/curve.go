package goodput

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/internal/numerics"
)

const (
	// intervalNoise is the relative deviation of the mean step time of one interval.
	intervalNoise = 0.05
	// stayNoise is the relative deviation that the intervals of one stay at a size have in common: a machine is faster or slower for a
	// while. More intervals do not reduce it.
	stayNoise = 0.04
	// priorWeight is the weight of the prior, in intervals: half of a step does not depend on the batch size.
	priorWeight = 0.02
	// maxIntervals bounds the intervals of a point that count.
	maxIntervals = 20
	// maxStep bounds the time of a step.
	maxStep growth.Seconds = 24 * 3600
)

// Point is what was measured at one batch size.
type Point struct {
	Batch int `json:"batch"`
	// Step is the mean time of a step with as many samples as the batch size, in Intervals intervals, of which the last maxIntervals count.
	Step      growth.Seconds `json:"stepSeconds"`
	Intervals int            `json:"intervals"`
	// Memory is the most memory in use at this size, before any larger one; 0 if unknown.
	Memory growth.MiB `json:"memoryMiB,omitempty"`
}

func (p Point) valid() bool {
	return p.Batch > 0 && p.Batch <= MaxBatch && p.Step > 0 && p.Step <= maxStep && p.Intervals > 0
}

// curve predicts the time of a step.
type curve struct {
	fixed, each float64 // of the fit, in seconds
	batches     []float64
	steps       []float64 // at batches: between the fit and the measurement
}

// fitCurve fits a curve to valid points, at least one.
func fitCurve(points []Point) curve {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Batch, b.Batch) })
	var c curve
	c.fit(points)
	excess := c.excess(points)
	for _, p := range points {
		b := float64(p.Batch)
		noise := p.noise()
		trust := excess / (excess + noise)
		c.batches = append(c.batches, b)
		c.steps = append(c.steps, math.Exp(trust*math.Log(float64(p.Step))+(1-trust)*math.Log(c.line(b))))
	}
	return c
}

func (p Point) weight() float64 { return float64(min(max(1, p.Intervals), maxIntervals)) }

// noise is the variance of the relative error of the mean step time.
func (p Point) noise() float64 {
	return intervalNoise*intervalNoise/p.weight() + stayNoise*stayNoise
}

// fit is a least-squares fit of the relative errors, with the prior as pseudo-observations: fixed − each·b = 0. Neither part is negative.
func (c *curve) fit(points []Point) {
	var batches, steps, weights []float64
	add := func(batch, step, weight float64) {
		batches, steps, weights = append(batches, batch), append(steps, step), append(weights, weight)
	}
	for _, p := range points {
		batch, step := float64(p.Batch), float64(p.Step)
		add(batch, step, p.weight()/(step*step))
		add(-batch, 0, priorWeight/(step*step))
	}
	c.fixed, c.each = numerics.RisingLine(batches, steps, weights)
}

func (c curve) line(b float64) float64 { return c.fixed + c.each*b }

// excess is the variance of the relative errors of the fit beyond that of the measurements.
func (c curve) excess(points []Point) float64 {
	var sum, noise float64
	for _, p := range points {
		relative := math.Log(float64(p.Step) / c.line(float64(p.Batch)))
		sum += relative * relative
		noise += p.noise()
	}
	free := float64(max(1, len(points)-2))
	return max(0, sum/free-noise/float64(len(points)))
}

// at predicts the time of a step. Beyond the measured sizes it is an optimistic one, so that the next size is measured: the line of
// the fit, or that through the last two points. A step with more samples is not shorter.
func (c curve) at(b float64) float64 {
	n := len(c.batches)
	i, found := slices.BinarySearch(c.batches, b)
	switch {
	case found:
		return c.steps[i]
	case n == 1:
		return c.steps[0] * c.line(b) / c.line(c.batches[0])
	case i == 0:
		longer := c.steps[0] - max(c.each, c.slope(0, 1))*(c.batches[0]-b)
		return clampTo(longer, c.steps[0]*b/c.batches[0], c.steps[0])
	case i == n:
		return c.steps[n-1] + max(0, min(c.each, c.slope(n-2, n-1)))*(b-c.batches[n-1])
	}
	return c.steps[i-1] + c.slope(i-1, i)*(b-c.batches[i-1])
}

// slope is that of the line through two points.
func (c curve) slope(i, j int) float64 {
	return (c.steps[j] - c.steps[i]) / (c.batches[j] - c.batches[i])
}

func clampTo(x, low, high float64) float64 { return max(low, min(high, x)) }
