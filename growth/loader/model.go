package loader

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// computeBound: an interval that waits less than this did not measure how fast loading could be.
	computeBound = 0.05
	// fading is the weight of a measurement against the one after it: the last ten or so count.
	decay = 0.9
	// ratioWeight is how many measurements the prior ratio b/a is worth, trust how many the fitted T(w) is.
	ratioWeight = 0.02
	fitWeight   = 1.0
)

// Model predicts one job's throughput.
type Model struct {
	// Parallel is a, Serial is b and Compute is c, in seconds per sample.
	Parallel, Serial, Compute growth.Seconds

	seen map[int]weightedMean
}

// Published is the regression that A-Dloader ships: 127 samples per second with one worker.
func Published() Model { return Model{Parallel: 0.00780704, Serial: 7.0736e-5} }

type weightedMean struct{ sum, weight float64 }

func (m weightedMean) value() float64 { return m.sum / m.weight }

func (m *weightedMean) add(value, weight float64) { m.sum += value * weight; m.weight += weight }

// Fit corrects a prior by measurements, the newest last. Unbelievable ones are passed over.
func Fit(prior Model, measurements []Measurement) Model {
	var believed []weightedMeasurement
	var computing weightedMean
	seen := map[int]weightedMean{}
	weight := 1.0
	for i := len(measurements) - 1; i >= 0; i-- {
		m := measurements[i]
		if !m.valid() {
			continue
		}
		believed = append(believed, weightedMeasurement{m, weight})
		computing.add(m.computeTime(), weight)
		at := seen[m.Loaders]
		at.add(float64(m.Rate), weight)
		seen[m.Loaders] = at
		weight *= decay
	}
	if len(believed) == 0 {
		return prior
	}
	fitted := regress(prior, believed)
	fitted.Compute, fitted.seen = growth.Seconds(computing.value()), seen
	return fitted
}

// weighed is a measurement with what it counts.
type weightedMeasurement struct {
	Measurement
	weight float64
}

// regress fits a and b: first to what was measured exactly, then once more with the upper bounds it broke.
func regress(prior Model, believed []weightedMeasurement) Model {
	var exact, bounds []weightedMeasurement
	for _, m := range believed {
		if _, ok := m.loadTime(); ok {
			exact = append(exact, m)
		} else {
			bounds = append(bounds, m)
		}
	}
	fitted := prior
	if len(exact) > 0 {
		fitted = leastSquares(prior, exact)
	}
	broken := exact
	for _, m := range bounds {
		if bound, _ := m.loadTime(); fitted.loadTime(m.Loaders) > bound {
			broken = append(broken, m)
		}
	}
	if len(broken) > len(exact) {
		fitted = leastSquares(prior, broken)
	}
	return fitted
}

// squares is the least-squares fit of y = a·x + b, a and b ≥ 0, with the prior's ratio b/a as a pseudo-observation.
func leastSquares(prior Model, measured []weightedMeasurement) Model {
	ratio := float64(prior.Serial / prior.Parallel)
	xx, x1, n, xy, y1 := ratioWeight*ratio*ratio, -ratioWeight*ratio, ratioWeight, 0.0, 0.0
	for _, m := range measured {
		x, w := inverse(m.Loaders), m.weight
		y, _ := m.loadTime()
		xx, x1, n, xy, y1 = xx+w*x*x, x1+w*x, n+w, xy+w*x*y, y1+w*y
	}
	det := xx*n - x1*x1
	a, b := (xy*n-x1*y1)/det, (xx*y1-x1*xy)/det
	switch {
	case !(a > 0): // includes NaN: a flat curve
		a, b = 0, y1/n
	case b < 0:
		a, b = xy/xx, 0
	}
	return Model{Parallel: growth.Seconds(a), Serial: growth.Seconds(b)}
}

// loading is y(w).
func (m Model) loadTime(loaders int) float64 {
	return math.Max(float64(m.Parallel)*inverse(loaders)+float64(m.Serial), 1/maxRate)
}

// MaxRate is the rate at which the job would train if data cost nothing.
func (m Model) MaxRate() growth.PerSecond {
	return growth.PerSecond(1 / math.Max(float64(m.Compute), 1/maxRate))
}

// Rate predicts T(w), per device.
func (m Model) Rate(loaders int) growth.PerSecond {
	predicted := 1 / (m.loadTime(0) + float64(m.Compute))
	if loaders > 0 {
		predicted = math.Min(1/m.loadTime(loaders), float64(m.MaxRate()))
	}
	if at, ok := m.seen[loaders]; ok {
		predicted = (at.sum + fitWeight*predicted) / (at.weight + fitWeight)
	}
	return growth.PerSecond(predicted)
}

// Curve predicts T(0), …, T(most).
func (m Model) Curve(most int) Curve {
	curve := make(Curve, min(max(most, 0), MaxLoaders)+1)
	for w := range curve {
		curve[w] = m.Rate(w)
	}
	return curve
}
