package deadline

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// Rough formats a duration with about two digits.
func Rough(s growth.Seconds) string {
	switch s = max(s, -s); {
	case s < 120:
		return fmt.Sprintf("%.0f s", float64(s))
	case s < 3*3600:
		return fmt.Sprintf("%.0f min", float64(s)/60)
	case s < 72*3600:
		return fmt.Sprintf("%.1f h", float64(s)/3600)
	}
	return fmt.Sprintf("%.1f days", float64(s)/86400)
}

// String returns "14 min late (80 %: 2 min early to 22 min late)".
func (d Degree) String() string {
	return fmt.Sprintf("%s (80 %%: %s to %s)", side(d.Likely), side(d.Low), side(d.High))
}

// By returns the degree of a late job as what it misses its deadline by: "14 min (80 %: 9 min to 22 min)".
func (d Degree) By() string {
	low := Rough(d.Low)
	if d.Low < 0 {
		low = side(d.Low)
	}
	return fmt.Sprintf("%s (80 %%: %s to %s)", Rough(d.Likely), low, Rough(d.High))
}

func side(s growth.Seconds) string {
	if s > 0 {
		return Rough(s) + " late"
	}
	return Rough(s) + " early"
}
