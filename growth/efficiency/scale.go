package efficiency

import "math"

// A change of scale is one jump of the metric by a large factor, after which it continues at the new level: a loss that
// is a sum instead of a mean, or that a loss scaler multiplies. A metric that falls fast is none.
const (
	// scaleFactor is the least factor between the new level and all values before.
	scaleFactor = 10
	// scaleJitter is the least ratio of the jump to the usual differences, both in logarithms.
	scaleJitter = 10
	// scaleHistory is the number of reports that must precede the jump. A metric may fall by any factor in its first steps.
	scaleHistory = 10
	// scaleReports is the number of reports at the new level that confirm a change, scaleWidth their greatest factor.
	scaleReports = 4
	scaleWidth   = 3
)

// Scale describes the magnitude of a metric.
type Scale struct {
	// Reports counts reports of one sign. Low and High are their least and greatest magnitude.
	Reports int     `json:"reports"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	// Level is the logarithm of the usual magnitude.
	Level float64 `json:"level"`
	// Jitter and Slope are the mean difference of logarithms between consecutive reports, and per step.
	Jitter float64 `json:"jitter"`
	Slope  float64 `json:"slope"`
}

func (s Scale) valid() bool {
	for _, f := range []float64{s.Low, s.High, s.Jitter, s.Slope} {
		if !finite(f) || f < 0 {
			return false
		}
	}
	return finite(s.Level) && s.Reports >= 0
}

// heldReport is a report after a jump, which does not count until the next ones show what the jump is.
type heldReport struct {
	step  int64
	value float64
}

// Rescaling is a change of the metric's scale.
type Rescaling struct {
	// Factor is the new scale divided by the old one. Since is the first step in the new scale.
	Factor float64
	Since  int64
	// Before and After are the values before and after the jump.
	Before, After float64
}

// Rescaled returns the change of scale that the last report has confirmed.
func (t *Tracker) Rescaled() (Rescaling, bool) { return t.rescaled, t.rescaled.Factor > 0 }

// hold adds a report that may be in another scale. It reports whether the report is held back, or has been counted.
func (t *Tracker) hold(step int64, value float64) bool {
	t.rescaled = Rescaling{}
	if len(t.held) == 0 {
		if !t.jumps(step, value) {
			return false
		}
		t.held = append(t.held, heldReport{step, value})
		return true
	}
	first := t.held[0].value
	level := math.Abs(math.Log(value / first)) // NaN if the sign changes
	if !(level <= math.Log(scaleWidth)) {
		t.countHeld()
		return false
	}
	t.held = append(t.held, heldReport{step, value})
	if len(t.held) == scaleReports {
		t.rescale()
		t.countHeld()
	}
	return true
}

// jumps reports whether a value is far outside all values before.
func (t *Tracker) jumps(step int64, value float64) bool {
	s, size := t.state.Scale, math.Abs(value)
	if !t.hasReport || s.Reports < scaleHistory || s.Low == 0 || value*t.last <= 0 {
		return false
	}
	if size >= s.Low/scaleFactor && size/scaleFactor <= s.High {
		return false
	}
	jump := math.Abs(math.Log(size) - math.Log(math.Abs(t.last)))
	return jump > scaleJitter*s.Jitter && jump > scaleJitter*s.Slope*float64(step-t.lastStep)
}

// countHeld counts the reports that were held back.
func (t *Tracker) countHeld() {
	held := t.held
	t.held = nil
	for _, r := range held {
		t.add(r.step, r.value)
	}
}

// rescale translates the state into the scale of the reports that are held back.
func (t *Tracker) rescale() {
	level := 0.0
	for _, r := range t.held {
		level += math.Log(math.Abs(r.value)) / float64(len(t.held))
	}
	s := t.state
	factor := math.Exp(level - s.Scale.Level)
	if !(factor > 0) || !finite(factor) {
		return
	}
	for _, f := range []*float64{
		&s.Smoothed, &s.Best, &s.Last, &s.Gained, &s.Noise, &s.Jitter, (*float64)(&s.Peak), &s.Scale.Low, &s.Scale.High,
	} {
		*f *= factor
	}
	s.Scale.Level = level
	if !s.valid() || !finite(t.sum*factor) {
		return
	}
	t.rescaled = Rescaling{Factor: factor, Since: t.held[0].step, Before: t.last, After: t.held[0].value}
	t.state = s
	t.sum *= factor
	t.last *= factor
}

// add updates the magnitude of the metric by a report.
func (s *Scale) add(value, before float64, steps int64) {
	size := math.Abs(value)
	if value == 0 || s.Reports > 0 && value*before <= 0 {
		*s = Scale{} // a metric that changes its sign has no scale
		return
	}
	level := math.Log(size)
	s.Reports = min(s.Reports+1, math.MaxInt32)
	if s.Reports == 1 {
		s.Low, s.High, s.Level = size, size, level
		return
	}
	weight := max(jitterSmoothing, 1/float64(s.Reports-1))
	change := math.Abs(level - math.Log(math.Abs(before)))
	s.Jitter += weight * (change - s.Jitter)
	if steps > 0 {
		s.Slope += weight * (change/float64(steps) - s.Slope)
	}
	s.Low, s.High = min(s.Low, size), max(s.High, size)
	s.Level += (level - s.Level) / 2
}
