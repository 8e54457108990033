package loader

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// computeBound is the waiting fraction below which an interval does not measure the loading time.
	computeBound = 0.05
	// decay is the weight of a measurement relative to the next one. About the last ten measurements count.
	decay = 0.9
	// ratioWeight is the weight of the prior ratio b/a, in measurements.
	ratioWeight = 0.02
	// fitWeight is the weight of the fitted T(w) relative to measurements at w.
	fitWeight = 1.0
)

// Model predicts the throughput of a job.
type Model struct {
	// Parallel is a, Serial is b and Compute is c, in seconds per sample.
	Parallel, Serial, Compute growth.Seconds

	seen map[int]weightedMean
}

// Published returns the regression of the A-Dloader paper: 127 samples per second with one worker.
func Published() Model { return Model{Parallel: 0.00780704, Serial: 7.0736e-5} }

type weightedMean struct{ sum, weight float64 }

func (m weightedMean) value() float64 { return m.sum / m.weight }

func (m *weightedMean) add(value, weight float64) {
	m.sum += value * weight
	m.weight += weight
}

// Fit corrects a prior by measurements, the newest last. It ignores invalid ones. The loading time of a sample does not
// depend on the batch size, so all measurements count for it. For the computing time those with the newest batch size count.
func Fit(prior Model, measurements []Measurement) Model {
	var valid []weightedMeasurement
	var computing weightedMean
	seen := map[int]weightedMean{}
	weight := 1.0
	for i := len(measurements) - 1; i >= 0; i-- {
		m := measurements[i]
		if !m.valid() {
			continue
		}
		valid = append(valid, weightedMeasurement{m, weight})
		if m.Batch == valid[0].Batch {
			computing.add(m.computeTime(), weight)
			at := seen[m.Loaders]
			at.add(float64(m.Rate), weight)
			seen[m.Loaders] = at
		}
		weight *= decay
	}
	if len(valid) == 0 {
		return prior
	}
	fitted := regress(prior, valid)
	fitted.Compute, fitted.seen = growth.Seconds(computing.value()), seen
	return fitted
}

// weightedMeasurement is a measurement with its weight.
type weightedMeasurement struct {
	Measurement
	weight float64
}

// regress fits a and b to the exact measurements. If the fit violates upper bounds, it fits again with these included.
func regress(prior Model, valid []weightedMeasurement) Model {
	var exact, bounds []weightedMeasurement
	for _, m := range valid {
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
	violated := exact
	for _, m := range bounds {
		if bound, _ := m.loadTime(); fitted.loadTime(m.Loaders) > bound {
			violated = append(violated, m)
		}
	}
	if len(violated) > len(exact) {
		fitted = leastSquares(prior, violated)
	}
	return fitted
}

// leastSquares fits y = a·x + b with a, b ≥ 0. The prior's ratio b/a is a pseudo-observation.
func leastSquares(prior Model, measured []weightedMeasurement) Model {
	ratio := float64(prior.Serial / prior.Parallel)
	xx, x1, n := ratioWeight*ratio*ratio, -ratioWeight*ratio, ratioWeight
	xy, y1 := 0.0, 0.0
	for _, m := range measured {
		x, w := inverse(m.Loaders), m.weight
		y, _ := m.loadTime()
		xx += w * x * x
		x1 += w * x
		n += w
		xy += w * x * y
		y1 += w * y
	}
	det := xx*n - x1*x1
	a, b := (xy*n-x1*y1)/det, (xx*y1-x1*xy)/det
	switch {
	case !(a > 0): // a constant curve, or NaN
		a, b = 0, y1/n
	case b < 0:
		a, b = xy/xx, 0
	}
	return Model{Parallel: growth.Seconds(a), Serial: growth.Seconds(b)}
}

// loadTime returns y(w), in seconds per sample.
func (m Model) loadTime(loaders int) float64 {
	return math.Max(float64(m.Parallel)*inverse(loaders)+float64(m.Serial), 1/maxRate)
}

// MaxRate returns the rate of the job if loading took no time.
func (m Model) MaxRate() growth.PerSecond {
	return growth.PerSecond(1 / math.Max(float64(m.Compute), 1/maxRate))
}

// Rate returns the predicted T(w), per device.
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

// Curve returns the predicted T(0), …, T(maxLoaders).
func (m Model) Curve(maxLoaders int) Curve {
	curve := make(Curve, min(max(maxLoaders, 0), MaxLoaders)+1)
	for w := range curve {
		curve[w] = m.Rate(w)
	}
	return curve
}
