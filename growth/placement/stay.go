package placement

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// stayed is the stay of a new job, as a part of the mean time that running jobs have left. A new job grows most at its beginning.
const stayed = 0.3

// TimeLeft sums the times that running jobs are expected to have left. It counts microseconds, so that what was added is taken away
// exactly. The zero value has no jobs.
type TimeLeft struct {
	microseconds int64
	jobs         int
}

// Add adds a job. A job whose end is unknown, with no time, does not count.
func (t *TimeLeft) Add(left growth.Seconds) { t.count(left, 1) }

// Remove takes away a job that was added with the same time.
func (t *TimeLeft) Remove(left growth.Seconds) { t.count(left, -1) }

func (t *TimeLeft) count(left growth.Seconds, sign int) {
	if left > 0 {
		t.microseconds += int64(sign) * int64(1e6*left)
		t.jobs += sign
	}
}

// Stay returns for how long a new job is compared with those on a GPU. It is a power of two, in seconds, so that scores depend on it in
// few values. Without jobs it is 0, for an unknown stay.
func (t TimeLeft) Stay() growth.Seconds {
	if t.jobs == 0 || t.microseconds == 0 {
		return 0
	}
	mean := float64(t.microseconds) / 1e6 / float64(t.jobs)
	return growth.Seconds(math.Exp2(math.Round(math.Log2(stayed * mean))))
}
