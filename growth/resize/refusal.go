package resize

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
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
	// Any is set if neither an increase nor a decrease has an effect.
	Any bool `json:"any,omitempty"`
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

// Resolved reports whether the request in force has since moved in the direction that was refused. That of a job whose
// resizes have no effect does not show it.
func (r Refusal) Resolved(inForce growth.MilliCPU) bool {
	return r.Times > 0 && !r.Any && (inForce > r.InForce) == (r.Requested > r.InForce) && inForce != r.InForce
}

// isIncrease reports whether an increase was refused.
func (r Refusal) isIncrease() bool { return r.Requested > r.InForce }
