package resize

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/flowcon"
)

const (
	// MinBackoff is the time after the first refusal before a resize is retried, and the minimum after any refusal.
	MinBackoff = 30 * time.Second
	// MaxBackoff is the maximum of the exponential backoff.
	MaxBackoff = 16 * time.Minute
)

// Refusal records a resize that was refused. The zero value means that none was.
type Refusal struct {
	// Requested is the CPU request that was refused.
	Requested growth.MilliCPU `json:"asked"`
	// InForce is the CPU request that the job has instead.
	InForce growth.MilliCPU `json:"inForce"`
	// At is the time of the last refusal, Times the number of consecutive ones.
	At    time.Time `json:"at"`
	Times int       `json:"times"`
	// Changed is set if the pod or the node has changed since the refusal, so that a retry may succeed.
	Changed bool `json:"stirred,omitempty"`
}

// Refused returns the record after another refusal.
func (r Refusal) Refused(requested, inForce growth.MilliCPU, now time.Time) Refusal {
	return Refusal{
		Requested: requested,
		InForce:   inForce,
		At:        now,
		Times:     r.Times + 1,
	}
}

// RetryAt returns the time of the next retry.
func (r Refusal) RetryAt() time.Time {
	backoff := MinBackoff
	if !r.Changed {
		for i := 1; i < r.Times && backoff < MaxBackoff; i++ {
			backoff *= 2
		}
	}
	return r.At.Add(min(backoff, MaxBackoff))
}

// Active reports whether the refused request must not be retried yet. A clock that was set back ends the backoff.
func (r Refusal) Active(now time.Time) bool {
	return r.Times > 0 && now.Before(r.RetryAt()) && !now.Before(r.At)
}

// Resolved reports whether the request in force has since moved in the direction that was refused.
func (r Refusal) Resolved(inForce growth.MilliCPU) bool {
	return r.Times > 0 && (inForce > r.InForce) == (r.Requested > r.InForce) && inForce != r.InForce
}

// isIncrease reports whether an increase was refused.
func (r Refusal) isIncrease() bool { return r.Requested > r.InForce }

// Divide turns shares of a pool into CPU requests, none below minimum, and returns the part of the pool that is usable.
// It respects active refusals:
//
//   - A job whose increase was refused keeps its request. The difference remains unused.
//   - A job whose decrease was refused keeps its request. The other jobs share the rest.
//
// Divide returns nil requests if the pool is too small.
func Divide(
	shares []growth.Share, refusals []Refusal, pool, minimum growth.MilliCPU, now time.Time,
) (requests []growth.MilliCPU, usable growth.MilliCPU) {
	fixed := make([]bool, len(shares))
	for again := true; again; {
		requests = divideRest(shares, refusals, fixed, pool, minimum)
		if requests == nil {
			return nil, pool
		}
		again = false
		for i, r := range refusals {
			if !fixed[i] && r.Active(now) && !r.isIncrease() && requests[i] < r.InForce {
				fixed[i] = true
				again = true
			}
		}
	}
	usable = pool
	for i, r := range refusals {
		if r.Active(now) && r.isIncrease() && requests[i] > r.InForce {
			usable -= requests[i] - r.InForce
			requests[i] = r.InForce
		}
	}
	return requests, usable
}

// divideRest leaves fixed jobs at their request in force and divides the rest of the pool among the others.
func divideRest(
	shares []growth.Share, refusals []Refusal, fixed []bool, pool, minimum growth.MilliCPU,
) []growth.MilliCPU {
	var rest []growth.Share
	for i, share := range shares {
		if fixed[i] {
			pool -= refusals[i].InForce
			continue
		}
		rest = append(rest, share)
	}
	parts := flowcon.Requests(rest, pool, minimum)
	if parts == nil && len(rest) > 0 {
		return nil
	}
	requests := make([]growth.MilliCPU, len(shares))
	for i := range shares {
		if fixed[i] {
			requests[i] = refusals[i].InForce
			continue
		}
		requests[i] = parts[0]
		parts = parts[1:]
	}
	return requests
}
