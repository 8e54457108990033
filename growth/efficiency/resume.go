package efficiency

import "math"

// jitterSmoothing is the weight of the newest report in the usual difference between two reports.
const jitterSmoothing = 1.0 / 16

// addJitter updates the usual difference between consecutive reports.
func (s *State) addJitter(before, value float64) {
	difference := math.Abs(value/2 - before/2)
	s.Jitter += jitterSmoothing * (min(2*difference, math.MaxFloat64) - s.Jitter)
}

// ResumeAt lets a job continue at an earlier step, from a checkpoint. Category, peak and the number of samples stay.
// Growth is measured from the next sample on, against the value that the job has there.
func (t *Tracker) ResumeAt(step int64, value float64) {
	s := &t.state
	s.Step = step
	if s.Samples > 0 && finite(value) {
		t.rebase(value)
	}
	s.RelapseStreak = 0
	t.recover()
	t.sum, t.count, t.invalid = 0, 0, 0
	t.hasSample, t.hasReport = false, false
	t.held, t.rescaled = nil, Rescaling{}
	s.Scale = Scale{}
}

// Recover ends the loss of a metric because the job's container was restarted.
func (t *Tracker) Recover() { t.recover() }

// rebase measures growth against a value from now on.
func (t *Tracker) rebase(value float64) {
	s := &t.state
	lost := t.direction * (value - s.Best)
	s.Gained = min(max(s.Gained-lost, 0), math.MaxFloat64)
	s.Smoothed, s.Best, s.Last = value, value, value
	t.rebased = true
}
