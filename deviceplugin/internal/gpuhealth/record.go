package gpuhealth

import (
	"fmt"
	"time"
)

// record is the health of one GPU.
type record struct {
	listed bool
	// failures counts consecutive bad lists; healthySince is the start of the good ones.
	failures     int
	healthySince time.Time
	// reason is the finding of the lists; it stays until RecoverAfter has passed. absent means that the GPU was not
	// listed.
	reason string
	absent bool
	// fault is the current fault, or nil.
	fault *Fault
}

// Fault is a fault that counts against a GPU.
type Fault struct {
	XID     uint64    `json:"xid"`
	At      time.Time `json:"at"`
	Action  Action    `json:"action"`
	Strikes int       `json:"strikes"` // consecutive faults
}

// observeHealthy records a good list. A GPU that was absent has been reset.
func (r *record) observeHealthy(now time.Time, recoverAfter time.Duration) {
	r.failures = 0
	if r.healthySince.IsZero() {
		r.healthySince = now
	}
	if r.absent {
		r.absent = false
		r.fault = nil
	}
	if now.Sub(r.healthySince) >= recoverAfter {
		r.reason = ""
	}
}

// mergeFaults combines a fault with the previous one. A fault that needs a reset keeps its number.
func mergeFaults(old *Fault, f Fault, window time.Duration) *Fault {
	if old == nil || f.At.Sub(old.At) > 2*window {
		return &f
	}
	f.Strikes = old.Strikes + 1
	if old.Action == UntilReset {
		f.XID = old.XID
		f.Action = UntilReset
	}
	return &f
}

// unhealthyReason explains why the GPU is unhealthy; it is empty for a healthy GPU.
func (r *record) unhealthyReason(now time.Time, recoverAfter time.Duration) string {
	if f := r.fault; f != nil {
		quiet := f.quietPeriod(recoverAfter)
		switch {
		case f.Action == UntilReset:
			return fmt.Sprintf("XID %d at %s: it needs a reset", f.XID, f.At.UTC().Format(time.DateTime))
		case now.Sub(f.At) < quiet:
			return fmt.Sprintf("XID %d at %s: not used before it has been quiet for %s", f.XID,
				f.At.UTC().Format(time.DateTime), quiet)
		}
	}
	return r.reason
}

// quietPeriod is the required time without faults. It doubles with each fault.
func (f Fault) quietPeriod(first time.Duration) time.Duration {
	wait := first
	for range f.Strikes - 1 {
		wait = 2 * wait
		if wait >= maxQuietPeriod {
			return maxQuietPeriod
		}
	}
	return wait
}
