package mpsthreads

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// Least is the smallest percentage.
	Least = 25
	// headroom is the factor by which a percentage exceeds the share.
	headroom = 2
)

// Percent returns the percentage of the threads with which a job of a share starts.
func Percent(share growth.Share) int {
	percent := math.Ceil(100*headroom*float64(share) - 1e-9)
	if !(percent >= Least) { // NaN too
		return Least
	}
	return int(min(percent, 100))
}

// EqualPart is the share of a new job next to some others, if nothing else is known.
func EqualPart(others int) growth.Share { return 1 / growth.Share(1+max(others, 0)) }
