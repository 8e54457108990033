package numerics

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRisingLine(t *testing.T) {
	for name, c := range map[string]struct {
		x, y, weights    []float64
		intercept, slope float64
	}{
		"two points":                     {[]float64{1, 2}, []float64{5, 7}, []float64{1, 1}, 3, 2},
		"the weights are parts of a sum": {[]float64{1, 2}, []float64{5, 7}, []float64{0.5, 0.5}, 3, 2},
		"a small sum of weights":         {[]float64{1, 2}, []float64{5, 7}, []float64{1e-9, 1e-9}, 3, 2},
		"a point without weight":         {[]float64{1, 2, 3}, []float64{5, 7, 1000}, []float64{1, 1, 0}, 3, 2},
		"a falling line is a constant":   {[]float64{1, 2}, []float64{7, 5}, []float64{1, 3}, 5.5, 0},
		"one point is a constant":        {[]float64{3}, []float64{7}, []float64{0.2}, 7, 0},
		"equal x are a constant":         {[]float64{3, 3}, []float64{6, 8}, []float64{1, 1}, 7, 0},
		"through zero, not below it":     {[]float64{1, 2}, []float64{1, 4}, []float64{1, 1}, 0, 9.0 / 5},
	} {
		t.Run(name, func(t *testing.T) {
			intercept, slope := RisingLine(c.x, c.y, c.weights)
			require.InDelta(t, c.intercept, intercept, 1e-9)
			require.InDelta(t, c.slope, slope, 1e-9)
		})
	}
}

// TestRisingLine_IsTheBest moves the parts of the line of random points. No other line that is not negative has smaller squares.
func TestRisingLine_IsTheBest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2_000 {
		n := 2 + random.IntN(6)
		x, y, weights := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i], weights[i] = 1+9*random.Float64(), 10*random.Float64(), random.Float64()
		}
		intercept, slope := RisingLine(x, y, weights)
		require.GreaterOrEqual(t, intercept, 0.0)
		require.GreaterOrEqual(t, slope, 0.0)
		squares := func(intercept, slope float64) (sum float64) {
			for i := range n {
				residual := y[i] - intercept - slope*x[i]
				sum += weights[i] * residual * residual
			}
			return sum
		}
		best := squares(intercept, slope)
		for _, move := range []float64{-0.1, -1e-3, 0, 1e-3, 0.1} {
			for _, turn := range []float64{-0.1, -1e-3, 0, 1e-3, 0.1} {
				other := squares(max(0, intercept+move), max(0, slope+turn))
				require.LessOrEqual(t, best, other+1e-9, "%v %v %v", x, y, weights)
			}
		}
	}
}

func TestMedian(t *testing.T) {
	require.Equal(t, 3.0, Median([]float64{5, 1, 3}))
	require.Equal(t, 2.0, Median([]float64{5, 1, 3, 1}), "the mean of both in the middle")
	require.Equal(t, 7.0, Median([]float64{7}))
}
