package remaining

import "github.com/trellis-gpu/trellis/growth"

// Parts of a job's whole work in which most have made 95 % of their metric's way: at least, most likely, at most.
const earliestTarget, typicalTarget, latestTarget = 0.2, 0.4, 0.6

// TypicalWorkToTarget is the need of a job whose curve says nothing yet, while its end is known: what most jobs need. Without it the
// youngest, who have most to gain, would be taken for those with the least. A job that has done more than that and whose
// curve still says nothing may have no such point: nothing is known of it.
func TypicalWorkToTarget(done growth.CoreSeconds, left Estimate) Estimate {
	if !left.Known {
		return Estimate{}
	}
	whole := done + left.Likely
	if done >= typicalTarget*whole {
		return Estimate{}
	}
	return Estimate{Low: max(0, earliestTarget*whole-done), Likely: typicalTarget*whole - done, High: latestTarget*whole - done, Known: true}
}
