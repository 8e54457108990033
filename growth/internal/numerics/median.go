package numerics

import "slices"

// Median returns the value in the middle, or the mean of both, of at least one value. It sorts the values.
func Median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
