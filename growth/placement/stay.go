package placement

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// stayed is the stay of a new job, as a part of the mean time that running jobs have left. A new job grows most at its beginning.
const stayed = 0.3

// StayOf returns for how long a new job is compared with others on a GPU, given how much time running jobs have left, in all. It is a
// power of two, in seconds, so that scores depend on it in few values. Without jobs it is 0, for an unknown stay.
func StayOf(left growth.Seconds, jobs int) growth.Seconds {
	if jobs <= 0 || left <= 0 {
		return 0
	}
	mean := float64(left) / float64(jobs)
	return growth.Seconds(math.Exp2(math.Round(math.Log2(stayed * mean))))
}
