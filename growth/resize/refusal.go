package resize

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/flowcon"
)

const (
	// MinBackoff is how long what was refused once is not asked for again, whatever changes; twice as long after each time
	// more.
	MinBackoff = 30 * time.Second
	// MaxBackoff is the longest that it ever is.
	MaxBackoff = 16 * time.Minute
)

// Refusal is a job's request that can not be. The zero value is none.
type Refusal struct {
	// Requested is what was asked for, InForce what the job has instead.
	Requested growth.MilliCPU `json:"asked"`
	InForce   growth.MilliCPU `json:"inForce"`
	// At is when it was refused, Times how often in a row.
	At    time.Time `json:"at"`
	Times int       `json:"times"`
	// Changed says that the pod or the node has changed since, so that it may be worth asking.
	Changed bool `json:"stirred,omitempty"`
}

// Refused is the refusal after one more.
func (r Refusal) Refused(asked, inForce growth.MilliCPU, now time.Time) Refusal {
	return Refusal{Requested: asked, InForce: inForce, At: now, Times: r.Times + 1}
}

// RetryAt is when it may be asked again, unless the pod or the node changes.
func (r Refusal) RetryAt() time.Time {
	patience := MinBackoff
	for i := 1; i < r.Times && patience < MaxBackoff; i++ {
		patience *= 2
	}
	if r.Changed {
		patience = MinBackoff
	}
	return r.At.Add(min(patience, MaxBackoff))
}

// Active tells that what was refused is not to be asked for yet. A clock that went back ends it: then nobody knows.
func (r Refusal) Active(now time.Time) bool {
	return r.Times > 0 && now.Before(r.RetryAt()) && !now.Before(r.At)
}

// Resolved tells that the job has meanwhile got what it was refused, or more of it.
func (r Refusal) Resolved(inForce growth.MilliCPU) bool {
	return r.Times > 0 && (inForce > r.InForce) == (r.Requested > r.InForce) && inForce != r.InForce
}

// raise tells that it was more that was refused, and not less.
func (r Refusal) isIncrease() bool { return r.Requested > r.InForce }

// Divide turns shares of a pool into requests, none below least, as far as refusals that stand allow, and tells what is
// left of the pool. Who can not have more leaves the rest of its part unused: others may not be able to give it back. Who
// can not be lowered keeps what it has, and the others share what that leaves. Nil for a pool that is too small.
func Divide(shares []growth.Share, refusals []Refusal, pool, least growth.MilliCPU, now time.Time) (requests []growth.MilliCPU, left growth.MilliCPU) {
	fixed := make([]bool, len(shares))
	for again := true; again; {
		if requests = divideRest(shares, refusals, fixed, pool, least); requests == nil {
			return nil, pool
		}
		again = false
		for i, r := range refusals {
			if !fixed[i] && r.Active(now) && !r.isIncrease() && requests[i] < r.InForce {
				fixed[i], again = true, true
			}
		}
	}
	left = pool
	for i, r := range refusals {
		if r.Active(now) && r.isIncrease() && requests[i] > r.InForce {
			left -= requests[i] - r.InForce
			requests[i] = r.InForce
		}
	}
	return requests, left
}

// divided gives the fixed ones what they have, and the others their parts of the rest.
func divideRest(shares []growth.Share, refusals []Refusal, fixed []bool, pool, least growth.MilliCPU) []growth.MilliCPU {
	var free []growth.Share
	for i, share := range shares {
		if fixed[i] {
			pool -= refusals[i].InForce
			continue
		}
		free = append(free, share)
	}
	parts := flowcon.Requests(free, pool, least)
	if parts == nil && len(free) > 0 {
		return nil
	}
	requests := make([]growth.MilliCPU, len(shares))
	for i := range shares {
		if fixed[i] {
			requests[i] = refusals[i].InForce
			continue
		}
		requests[i], parts = parts[0], parts[1:]
	}
	return requests
}
