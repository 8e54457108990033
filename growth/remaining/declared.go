package remaining

import "github.com/trellis-gpu/trellis/growth"

// FromDeclared is what is left of a total that somebody declared, and that may be wrong by a part of the truth: 0.3 for
// ±30 %. Low and High bound the middle half of what is possible. A job that goes on beyond its total needs most likely
// half of what it can still need; one that goes beyond all that is possible is not known any more.
func FromDeclared(total, done growth.CoreSeconds, wrong float64) Estimate {
	part := growth.CoreSeconds(wrong)
	least, most := total/(1+part/2), total/(1-part/2)
	likely := total
	if possible := total / (1 - part); likely <= done {
		likely = (done + possible) / 2
		most = possible
		if done >= possible {
			return Estimate{}
		}
	}
	return Estimate{Low: max(least-done, 0), Likely: likely - done, High: max(most-done, likely-done), Known: true}
}
