package gpuhealth

import (
	"fmt"
	"time"
)

// record is the health of one GPU.
type record struct {
	listed bool
	// failures counts the consecutive listings in which the GPU was absent or unreadable. healthySince is the time of
	// the first listing after those; zero while they last.
	failures     int
	healthySince time.Time
	// reason is why the listings found the GPU unhealthy. It stays until RecoverAfter has passed since healthySince.
	// absent is set if the driver did not list the GPU.
	reason string
	absent bool
	// fault is the last fault, or nil. It may be older than its quiet period.
	fault *Fault
}

// Fault is an XID error that makes a GPU unhealthy.
type Fault struct {
	XID     uint64    `json:"xid"`
	At      time.Time `json:"at"`
	Action  Action    `json:"action"`
	Strikes int       `json:"strikes"` // faults with less than two quiet periods between them
}

// observeHealthy records a listing in which the GPU is readable. A GPU that was absent before has been reset.
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

// mergeFaults combines a fault with the previous one. A fault that needs a reset keeps its XID.
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
			return fmt.Sprintf("XID %d at %s: no new jobs until it has had no error for %s", f.XID,
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
