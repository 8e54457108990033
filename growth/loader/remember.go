package loader

import (
	"math"
	"slices"
)

// MaxRemembered bounds the measurements that are remembered of a program.
const MaxRemembered = 12

// rememberedEach bounds those of one number of workers.
const rememberedEach = 2

// Remember returns the measurements that say most about a program's data loaders, the newest last: the newest ones of each number of
// workers.
func Remember(all []Measurement) []Measurement {
	count := map[int]int{}
	var kept []Measurement
	for _, m := range slices.Backward(all) {
		if len(kept) == MaxRemembered {
			break
		}
		if m.valid() && m.Batch > 0 && count[m.Loaders] < rememberedEach {
			count[m.Loaders]++
			kept = append(kept, m)
		}
	}
	slices.Reverse(kept)
	return kept
}

// noticed is the relative difference of rates from which measurements differ.
const noticed = 0.1

// Alike reports whether measurements say nearly the same.
func Alike(a, b []Measurement) bool {
	return slices.EqualFunc(a, b, func(m, n Measurement) bool {
		return m.Loaders == n.Loaders && m.Batch == n.Batch &&
			math.Abs(float64(m.Rate-n.Rate)) <= noticed*float64(max(m.Rate, n.Rate)) && math.Abs(float64(m.Waiting-n.Waiting)) <= noticed
	})
}
