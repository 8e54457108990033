package extenderbench

import (
	"slices"
	"time"
)

// times are durations, reported in milliseconds.
type times []time.Duration

// quantile returns the smallest duration that a fraction q does not exceed.
func (t times) quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// tail is the 99th percentile over the median.
func (t times) tail() float64 { return float64(t.quantile(0.99)) / float64(t.quantile(0.5)) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratios(ours, theirs []float64) []float64 {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / theirs[i]
	}
	return ratios
}
