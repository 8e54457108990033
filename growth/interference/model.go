package interference

import "github.com/trellis-gpu/trellis/growth"

// Model is the contention of a GPU: its mean and how far that may be off, both ≥ 0. It is a value; the zero value says that
// jobs do not disturb one another, and is sure of it.
type Model struct {
	Contention, Deviation growth.Slowdown
}

// Prior is the model before anything has been measured.
func Prior() Model { return Model{Contention: 0.31, Deviation: 0.15} }

// Slowdown predicts for a job of activity own beside neighbours whose activities add up to others.
func (m Model) Slowdown(own, others growth.Share) Prediction {
	overlap := growth.Slowdown(max(0, own) * max(0, others))
	return Prediction{Mean: 1 + m.Contention*overlap, Deviation: m.Deviation * overlap}
}

// Prediction is a slowdown, as far as it is known.
type Prediction struct {
	// Mean is what to expect, ≥ 1; Deviation its standard deviation.
	Mean, Deviation growth.Slowdown
}

// Cautious is what to reckon with: one deviation worse than expected.
func (p Prediction) Cautious() growth.Slowdown { return p.Mean + p.Deviation }
