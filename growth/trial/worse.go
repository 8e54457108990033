package trial

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// worse says what has become worse; nothing where nothing has.
func whyWorse(before, after Observations, better growth.Direction) string {
	least := float64(before.meanRate()) * float64(1-Tolerance)
	if was := before.meanShare(); was > 0 {
		least *= min(1, float64(after.meanShare()/was))
	}
	if is := float64(after.meanRate()); is < least {
		return fmt.Sprintf("%.1f samples/s, and at least %.1f of the %.1f before were to stay", is, least, float64(before.meanRate()))
	}
	was, spread, valued := before.metricStats()
	if !valued {
		return ""
	}
	is, _, valued := after.metricStats()
	if !valued {
		return "its metric is not reported any more"
	}
	lost := is - was
	if better == growth.Maximize {
		lost = -lost
	}
	if lost > max(float64(Tolerance)*math.Abs(was), 2*spread) {
		return fmt.Sprintf("its metric went from %.4g to %.4g", was, is)
	}
	return ""
}
