package cache

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// lefts sums the times to the expected ends of jobs. It counts whole seconds, so that what was added is taken away exactly.
type lefts struct {
	seconds int64
	jobs    int
}

// add adds a job, or takes it away with -1, if its end is known.
func (l *lefts) add(s sample, sign int) {
	if s.left <= 0 {
		return
	}
	l.seconds += int64(sign) * int64(s.left)
	l.jobs += sign
}

// stay returns for how long a new job is compared with others.
func (l lefts) stay() growth.Seconds { return placement.StayOf(growth.Seconds(l.seconds), l.jobs) }
