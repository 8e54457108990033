package placement

import "math"

// Score is what a place is worth by some policy. Scores compare within one policy; 1 is the best there can be.
type Score float64

// MaxPoints is the top of the extender API's range.
const MaxPoints = 10

// Normalizer turns the scores of all places that a job could go to into points: the best place gets MaxPoints, a place worth half
// of it half of them, and one that is worth nothing, or less than that, none. Where all places are bad the worst of them
// gets none. The zero value is an empty scale.
//
// Points are relative because a full cluster is where choosing well matters most: there all scores lie close together, and
// rounded by themselves they would all be the same.
type Normalizer struct {
	best, worst Score
	started     bool
}

// Add takes a score into account.
func (s *Normalizer) Add(score Score) {
	if !score.finite() {
		return
	}
	if !s.started {
		s.best, s.worst, s.started = score, score, true
		return
	}
	s.best, s.worst = max(s.best, score), min(s.worst, score)
}

// Points are those of one of the scores that were added.
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
	part := float64((score - floor) / (s.best - floor))
	return int64(math.Round(MaxPoints * min(1, max(0, part))))
}

// known is false for what is not a number.
func (s Score) finite() bool { return !math.IsNaN(float64(s)) && !math.IsInf(float64(s), 0) }
