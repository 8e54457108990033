package numerics

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// RisingLine returns the line of the least weighted squares, intercept + slope·x, of those of which neither part is negative. Where all x
// are equal it is a constant. It needs values y that are not negative, of which one has a weight, and scales the weights: gonum divides by
// what their sum exceeds 1 by, which is zero for weights that are parts of a whole.
func RisingLine(x, y, weights []float64) (intercept, slope float64) {
	floats.Scale(2/floats.Sum(weights), weights)
	intercept, slope = stat.LinearRegression(x, y, weights, false)
	switch {
	case !(slope > 0):
		return stat.Mean(y, weights), 0
	case intercept < 0:
		return stat.LinearRegression(x, y, weights, true)
	}
	return intercept, slope
}
