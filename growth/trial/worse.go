package trial

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// worse says what has become worse; nothing where nothing has.
func worse(before, after Observations, better growth.Direction) string {
	least := float64(before.samples()) * float64(1-Tolerance)
	if was := before.share(); was > 0 {
		least *= min(1, float64(after.share()/was))
	}
	if is := float64(after.samples()); is < least {
		return fmt.Sprintf("%.1f samples/s, and at least %.1f of the %.1f before were to stay", is, least, float64(before.samples()))
	}
	was, spread, valued := before.values()
	if !valued {
		return ""
	}
	is, _, valued := after.values()
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
