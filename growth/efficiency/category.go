package efficiency

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// updateCategory updates the category and returns the reason.
func (t *Tracker) updateCategory() string {
	s, c := &t.state, t.config
	g := float64(s.Growth)
	switch {
	case g > c.ReturnFactor*c.Alpha:
		s.Category = growth.Progressing
		s.LowStreak = 0
		return fmt.Sprintf("growth %.3f is above %.3f", g, c.ReturnFactor*c.Alpha)
	case g >= c.Alpha:
		s.LowStreak = 0
		return fmt.Sprintf("growth %.3f is between %.3f and %.3f: no change", g, c.Alpha, c.ReturnFactor*c.Alpha)
	}
	s.LowStreak++
	if s.LowStreak < c.LowSamples {
		return fmt.Sprintf("growth %.3f is below %.3f, %d of %d times", g, c.Alpha, s.LowStreak, c.LowSamples)
	}
	s.LowStreak = 0
	s.Category = demote(s.Category)
	return fmt.Sprintf("growth %.3f was below %.3f for %d samples", g, c.Alpha, c.LowSamples)
}

// lose updates growth and category for an interval in which the metric was not finite. It returns the reason.
func (t *Tracker) lose(f NotFinite) string {
	t.raw, t.progress, t.per = 0, 0, PerResource{}
	t.state.Growth = 0
	t.updateCategory()
	return fmt.Sprintf("the metric is %s since step %d: no growth", f.Kinds(), f.Since)
}

func demote(c growth.Category) growth.Category {
	if c == growth.Progressing {
		return growth.Watching
	}
	return growth.Converged
}
