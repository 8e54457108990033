package placement

import "math"

// Score rates a GPU or a choice of GPUs. Scores are comparable within one policy; 1 is the maximum.
type Score float64

// MaxPoints is the upper end of the extender API's range.
const MaxPoints = 10

// Normalizer maps the scores of all feasible nodes to points. The best node gets MaxPoints, a node with half of its
// score half of the points, and a node with a score of 0 or less none. If all scores are negative, the worst node gets
// none. The zero value is ready to use.
//
// Points are relative to the best score because scores in a full cluster, where the choice matters most, are close
// together. Absolute points would round to the same number.
type Normalizer struct {
	best, worst Score
	started     bool
}

// Add adds the score of a node.
func (s *Normalizer) Add(score Score) {
	if !score.finite() {
		return
	}
	if !s.started {
		s.best, s.worst = score, score
		s.started = true
		return
	}
	s.best = max(s.best, score)
	s.worst = min(s.worst, score)
}

// Points returns the points of a score that was added.
func (s Normalizer) Points(score Score) int64 {
	if !score.finite() || !s.started {
		return 0
	}
	floor := Score(0)
	if s.best <= 0 {
		floor = s.worst
	}
	if s.best == floor {
		return MaxPoints
	}
	fraction := float64((score - floor) / (s.best - floor))
	return int64(math.Round(MaxPoints * min(1, max(0, fraction))))
}

// finite reports whether the score is neither NaN nor infinite.
func (s Score) finite() bool { return !math.IsNaN(float64(s)) && !math.IsInf(float64(s), 0) }
