package rightsize

import (
	"time"

	"github.com/trellis-gpu/trellis/growth/peaks"
)

const (
	// period is the least time between two changes of a request.
	period = 5 * time.Minute
	// minBlocks and minLowering are the numbers of blocks that must be observed before a request is raised, and lowered.
	minBlocks, minLowering = 4, 8
	// minBackoff is the time after the first refusal, maxBackoff the most.
	minBackoff, maxBackoff = time.Minute, 16 * time.Minute
)

// Schedule says when the request of a job may be changed. The zero value permits a change.
type Schedule struct {
	next     time.Time
	refusals int
}

// Due reports whether a request may be changed now. lowers is set for a change to a smaller one.
func (s Schedule) Due(p peaks.Profile, lowers bool, now time.Time) bool {
	least := minBlocks
	if lowers {
		least = minLowering
	}
	return len(p.Valid().Blocks) >= least && !now.Before(s.next)
}

// Applied returns the schedule after a change.
func (s Schedule) Applied(now time.Time) Schedule { return Schedule{next: now.Add(period)} }

// Refused returns the schedule after a refused change.
func (s Schedule) Refused(now time.Time) Schedule {
	backoff := minBackoff
	for n := 0; n < s.refusals && backoff < maxBackoff; n++ {
		backoff *= 2
	}
	return Schedule{next: now.Add(min(backoff, maxBackoff)), refusals: s.refusals + 1}
}

// Yield returns the schedule of a job whose request another client changes.
func (s Schedule) Yield(now time.Time) Schedule { return Schedule{next: now.Add(time.Hour)} }

// Next is the earliest time of the next change.
func (s Schedule) Next() time.Time { return s.next }
