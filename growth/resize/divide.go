package resize

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/flowcon"
)

// Claim is a job's claim to a part of the pool.
type Claim struct {
	Share growth.Share
	// Minimum is the smallest request that the job can have.
	Minimum growth.MilliCPU
	Refusal Refusal
}

// Divide turns shares of a pool into CPU requests, none below the job's minimum, and returns the part of the pool that
// is usable. It respects active refusals:
//
//   - A job whose increase was refused keeps its request. The difference remains unused.
//   - A job whose decrease was refused keeps its request. The other jobs share the rest.
//   - The same holds for a job whose resizes have no effect.
//
// Divide returns nil requests if the pool is too small.
func Divide(claims []Claim, pool growth.MilliCPU, now time.Time) (requests []growth.MilliCPU, usable growth.MilliCPU) {
	fixed := make([]bool, len(claims))
	for again := true; again; {
		requests = divideRest(claims, fixed, pool)
		if requests == nil {
			return nil, pool
		}
		again = false
		for i, c := range claims {
			r := c.Refusal
			if !fixed[i] && r.Active(now) && r.pins(requests[i]) {
				fixed[i] = true
				again = true
			}
		}
	}
	usable = pool
	for i, c := range claims {
		r := c.Refusal
		if r.Active(now) && r.isIncrease() && requests[i] > r.InForce {
			usable -= requests[i] - r.InForce
			requests[i] = r.InForce
		}
	}
	return requests, usable
}

// pins reports whether a job keeps the request in force and the other jobs must divide the rest.
func (r Refusal) pins(requested growth.MilliCPU) bool {
	return (r.Any && requested != r.InForce) || (!r.isIncrease() && requested < r.InForce)
}

// divideRest leaves fixed jobs at their request in force and divides the rest of the pool among the others.
func divideRest(claims []Claim, fixed []bool, pool growth.MilliCPU) []growth.MilliCPU {
	var rest []growth.Share
	var minima []growth.MilliCPU
	for i, c := range claims {
		if fixed[i] {
			pool -= c.Refusal.InForce
			continue
		}
		rest = append(rest, c.Share)
		minima = append(minima, c.Minimum)
	}
	parts := flowcon.Requests(rest, minima, pool)
	if parts == nil && len(rest) > 0 {
		return nil
	}
	requests := make([]growth.MilliCPU, len(claims))
	for i, c := range claims {
		if fixed[i] {
			requests[i] = c.Refusal.InForce
			continue
		}
		requests[i] = parts[0]
		parts = parts[1:]
	}
	return requests
}
