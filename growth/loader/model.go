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
	// unseenLoad is the expected loading time of a job that never waits for data, relative to its upper bound. All that is known
	// is that the workers are enough; fewer may be.
	unseenLoad = 0.5
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
