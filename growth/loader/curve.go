package loader

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Curve is throughput per device by workers per device, starting with none.
type Curve []growth.PerSecond

// At returns the rate with w workers; beyond its end a curve is flat.
func (c Curve) At(w int) growth.PerSecond {
	if len(c) == 0 || w < 0 {
		return 0
	}
	return clampRate(c[min(w, len(c)-1)])
}

// Hull returns the curve's running maximum, cut off after the worker that is the last to add anything.
func (c Curve) Hull() Curve {
	hull, useful := make(Curve, len(c)), 0
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

// concave tells whether each worker adds no more than the one before. Allocate's curves start at w = 0.
func (c Curve) concave() bool {
	for w := 2; w < len(c); w++ {
		if c[w]-c[w-1] > c[w-1]-c[w-2] {
			return false
		}
	}
	return true
}

// finite makes nothing of what is no rate.
func clampRate(rate growth.PerSecond) growth.PerSecond {
	if rate >= 0 && float64(rate) <= math.MaxFloat64/1e12 {
		return rate
	}
	return 0
}
