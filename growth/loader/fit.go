package loader

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/internal/numerics"
)

// Fit corrects a prior by measurements, the newest last. It ignores invalid ones. The loading time of a sample does not
// depend on the batch size, so all measurements count for it. For the computing time those with the newest batch size count.
func Fit(prior Model, measurements []Measurement) Model {
	valid := make([]weightedMeasurement, 0, len(measurements))
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

// regress fits a and b to the exact measurements. If the fit violates upper bounds, it fits again with these included. Without
// an exact measurement the fit expects a loading time below the bounds, so that a worker is taken away where another job
// gains more by it. That measures the loading time if the worker was needed.
func regress(prior Model, valid []weightedMeasurement) Model {
	exact := make([]weightedMeasurement, 0, len(valid))
	var bounds []weightedMeasurement
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
	if len(exact) == 0 && len(violated) > 0 {
		fitted.Parallel *= unseenLoad
		fitted.Serial *= unseenLoad
	}
	return fitted
}

// leastSquares fits y = a·x + b with a, b ≥ 0. The prior's ratio b/a is a pseudo-observation: ratio·a − b = 0.
func leastSquares(prior Model, measured []weightedMeasurement) Model {
	x, y := make([]float64, 0, len(measured)+1), make([]float64, 0, len(measured)+1)
	weights := make([]float64, 0, len(measured)+1)
	for _, m := range measured {
		loadTime, _ := m.loadTime()
		x, y, weights = append(x, inverse(m.Loaders)), append(y, loadTime), append(weights, m.weight)
	}
	x, y, weights = append(x, -float64(prior.Serial/prior.Parallel)), append(y, 0), append(weights, ratioWeight)
	serial, parallel := numerics.RisingLine(x, y, weights)
	return Model{Parallel: growth.Seconds(parallel), Serial: growth.Seconds(serial)}
}
