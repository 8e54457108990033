package goodput

import "math"

// Rule is the rule by which a job changes its learning rate with its batch size.
type Rule string

// All rules.
const (
	Linear     Rule = "linear"
	SquareRoot Rule = "square-root"
	Unchanged  Rule = "none"
)

// factor is the factor of the learning rate for a batch that is larger by a ratio. Any other rule changes nothing.
func (r Rule) factor(ratio float64) float64 {
	switch r {
	case Linear:
		return ratio
	case SquareRoot:
		return math.Sqrt(ratio)
	}
	return 1
}

// Efficiency is the value of a sample in a batch of some samples, relative to one in the job's own batch, if the noise scale is
// within an interval. The less favourable end counts. Batches are those of the whole job.
func (r Rule) Efficiency(low, high, own, batch float64) float64 {
	if !(own > 0 && batch > 0) || math.IsInf(own, 1) || math.IsInf(batch, 1) {
		return 0
	}
	ratio := batch / own
	scale := low
	if ratio < 1 {
		scale = high
	}
	noise := 1 / ratio // of a gradient, relative to the job's own batch; the limit for an infinite scale
	if !math.IsInf(scale, 1) {
		noise = (1 + scale/batch) / (1 + scale/own)
	}
	s := r.factor(ratio)
	progress := s * (2 - s*noise)
	if s == 1 {
		progress = min(progress, 1)
	}
	return max(0, progress/ratio)
}
