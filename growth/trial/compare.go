package trial

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// whyWorse explains what got worse from before to after; empty if nothing did.
func whyWorse(before, after Observations, direction growth.Direction) string {
	baseline := float64(before.meanRate())
	limit := baseline * float64(1-Tolerance)
	if share := before.meanShare(); share > 0 {
		limit *= min(1, float64(after.meanShare()/share))
	}
	rate := float64(after.meanRate())
	if rate < limit {
		return fmt.Sprintf("%.1f %s, below the limit of %.1f (%.1f before)", rate, after.unit(), limit, baseline)
	}
	was, spread, known := before.metricStats()
	if !known {
		return ""
	}
	is, _, known := after.metricStats()
	if !known && !before.metricAlways() {
		return "" // it is evaluated less often than once in an interval
	}
	if !known {
		return "its metric is no longer reported"
	}
	loss := is - was
	if direction == growth.Maximize {
		loss = -loss
	}
	if loss > max(float64(Tolerance)*math.Abs(was), 2*spread) {
		return fmt.Sprintf("its metric went from %.4g to %.4g", was, is)
	}
	return ""
}
