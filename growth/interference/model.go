package interference

import "github.com/trellis-gpu/trellis/growth"

// Model is the contention of a GPU. The zero value predicts, with certainty, that jobs do not slow one another down.
type Model struct {
	// Contention is the mean of the contention c (see the package comment), Deviation its standard deviation; both are
	// ≥ 0.
	Contention, Deviation growth.Slowdown
}

// Prior returns the model before any measurement.
func Prior() Model { return Model{Contention: 0.31, Deviation: 0.15} }

// Slowdown predicts the slowdown of a job with activity own on a GPU shared with jobs whose activities sum to others.
func (m Model) Slowdown(own, others growth.Share) Prediction {
	overlap := growth.Slowdown(max(0, own) * max(0, others))
	return Prediction{Mean: 1 + m.Contention*overlap, Deviation: m.Deviation * overlap}
}

// Prediction is a predicted slowdown.
type Prediction struct {
	// Mean is the expected slowdown, ≥ 1, Deviation its standard deviation.
	Mean, Deviation growth.Slowdown
}

// Cautious returns the mean plus one standard deviation.
func (p Prediction) Cautious() growth.Slowdown { return p.Mean + p.Deviation }
