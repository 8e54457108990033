package remaining

import "github.com/trellis-gpu/trellis/growth"

// Declared is what is left of a total that somebody declared, and that may be wrong by a part of the truth: 0.3 for
// ±30 %. A job that goes on beyond its total needs most likely half of what it can still need.
func Declared(total, done growth.CoreSeconds, wrong float64) Estimate {
	low, high := total/growth.CoreSeconds(1+wrong), total/growth.CoreSeconds(1-wrong)
	likely := total
	if likely <= done {
		likely = (done + high) / 2
	}
	return Estimate{Low: max(low-done, 0), Likely: max(likely-done, 0), High: max(high-done, 0), Known: high > done}
}
