package loader

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Curve is the throughput per device by the number of workers per device, from 0.
type Curve []growth.PerSecond

// At returns the rate with w workers. A curve is constant beyond its end.
func (c Curve) At(w int) growth.PerSecond {
	if len(c) == 0 || w < 0 {
		return 0
	}
	return clampRate(c[min(w, len(c)-1)])
}

// Hull returns the running maximum of the curve, truncated after the last worker that adds throughput.
func (c Curve) Hull() Curve {
	hull := make(Curve, len(c))
	useful := 0
	for w := range c {
		hull[w] = c.At(w)
		if w > 0 && hull[w] <= hull[w-1] {
			hull[w] = hull[w-1]
		} else {
			useful = w
		}
	}
	return hull[:min(useful+1, len(hull))]
}

// concave reports whether each worker adds at most as much as the one before.
func (c Curve) concave() bool {
	for w := 2; w < len(c); w++ {
		if c[w]-c[w-1] > c[w-1]-c[w-2] {
			return false
		}
	}
	return true
}

// clampRate returns 0 for a rate that is negative, infinite, NaN or too large to sum.
func clampRate(rate growth.PerSecond) growth.PerSecond {
	if rate >= 0 && float64(rate) <= math.MaxFloat64/1e12 {
		return rate
	}
	return 0
}
