package bus

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// The clocks of nodes may differ from that of a reader by any amount. So a sample has the seconds that are left next to each time.
// Samples of earlier releases have only the times.

// maxLeft bounds what a record may claim. A deadline is at most a year after the pod's creation.
const maxLeft growth.Seconds = 366 * 24 * 3600

// Left returns the time to the job's likely end; false if it is unknown. now is the reader's time, which counts only for a sample of
// an earlier release. The job's work then bounds the time from below, because that does not depend on a clock.
func (s Sample) Left(now time.Time) (growth.Seconds, bool) {
	if s.ETA == nil {
		return 0, false
	}
	if s.ETA.Left != nil {
		return bounded(*s.ETA.Left, 0), true
	}
	least := growth.Seconds(0)
	if work := s.ETA.Remaining; work.Known && work.Low > 0 && s.Usable > 0 {
		least = growth.Seconds(float64(work.Low) / s.Usable.Cores())
	}
	return bounded(growth.Seconds(s.ETA.Likely.Sub(now).Seconds()), least), true
}

// LeftAt returns the time to the deadline, which is negative after it. now is the reader's time, which counts only for a sample of an
// earlier release.
func (d Deadline) LeftAt(now time.Time) growth.Seconds {
	left := growth.Seconds(d.At.Sub(now).Seconds())
	if d.Left != nil {
		left = *d.Left
	}
	return bounded(left, -maxLeft)
}

// bounded returns a time of at least least, and of at most maxLeft.
func bounded(left, least growth.Seconds) growth.Seconds { return min(max(left, least), maxLeft) }
