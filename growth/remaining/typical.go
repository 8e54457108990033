package remaining

import "github.com/trellis-gpu/trellis/growth"

// Fractions of a job's whole work after which most jobs have reached their target: lower bound, typical, upper bound.
const earliestTarget, typicalTarget, latestTarget = 0.2, 0.4, 0.6

// TypicalWorkToTarget estimates the work to target of a job whose curve says nothing yet and whose remaining work is
// known. Without it, young jobs, which have the most to gain, would count as jobs with the least to gain.
//
// The result is unknown once the job has done the typical work: it may have no such target.
func TypicalWorkToTarget(done growth.Work, remaining Estimate) Estimate {
	if !remaining.Known {
		return Estimate{}
	}
	whole := done + remaining.Likely
	if done >= typicalTarget*whole {
		return Estimate{}
	}
	return Estimate{
		Low:    max(0, earliestTarget*whole-done),
		Likely: typicalTarget*whole - done,
		High:   latestTarget*whole - done,
		Known:  true,
		Unit:   remaining.Unit,
	}
}
