package remaining_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/remaining"
)

// twoPhaseLoss returns the curve of a loss that falls twice: at the start, and after the long plateau that is typical
// of recurrent networks. No fit of its beginning predicts the second fall.
func twoPhaseLoss(from, to float64, noise func() float64) (c remaining.Curve) {
	for step := from; step <= to; step += 10 {
		c.Add(step, 1+math.Exp(-step/50)+1/(1+math.Exp((step-1000)/50))+noise())
	}
	return c
}

func noNoise() float64 { return 0 }

func TestCurve_Similar(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	noisy := func() float64 { return 0.05 * rng.NormFloat64() }
	slower := twoPhaseLoss(10, 2000, noisy)
	for i := range slower.Points {
		slower.Points[i].Step *= 3
	}
	worse := twoPhaseLoss(10, 2000, func() float64 { return 1 })
	for name, tc := range map[string]struct {
		own    remaining.Curve
		others []remaining.Curve
		want   []int
	}{
		"there are no other curves":                                 {twoPhaseLoss(10, 200, noisy), nil, nil},
		"the same job with another seed":                            {twoPhaseLoss(10, 200, noisy), []remaining.Curve{twoPhaseLoss(10, 2000, noisy)}, []int{0}},
		"the closest curve is used":                                 {twoPhaseLoss(10, 200, noNoise), []remaining.Curve{twoPhaseLoss(10, 1000, noisy), twoPhaseLoss(10, 1000, noNoise), worse}, []int{1}},
		"a curve that reaches the end comes before a closer one":    {twoPhaseLoss(10, 200, noNoise), []remaining.Curve{twoPhaseLoss(10, 1000, noNoise), twoPhaseLoss(10, 2000, noisy), twoPhaseLoss(10, 1000, noNoise)}, []int{1}},
		"all curves that reach the end are used, the closest first": {twoPhaseLoss(10, 200, noNoise), []remaining.Curve{twoPhaseLoss(10, 2000, noisy), twoPhaseLoss(10, 2000, noNoise), worse}, []int{1, 0}},
		"a dissimilar curve is ignored although it reaches the end": {twoPhaseLoss(10, 200, noNoise), []remaining.Curve{slower, twoPhaseLoss(10, 1000, noisy)}, []int{1}},
		"another learning rate is not similar":                      {twoPhaseLoss(10, 200, noisy), []remaining.Curve{slower}, nil},
		"another scale is not similar":                              {twoPhaseLoss(10, 200, noisy), []remaining.Curve{worse}, nil},
		"the other curve is not longer":                             {twoPhaseLoss(10, 200, noisy), []remaining.Curve{twoPhaseLoss(10, 200, noisy)}, nil},
		"the other curve starts in the middle":                      {twoPhaseLoss(10, 200, noisy), []remaining.Curve{twoPhaseLoss(500, 2000, noisy)}, nil},
		"without a report of its own, the longest curve is used":    {remaining.Curve{}, []remaining.Curve{twoPhaseLoss(10, 500, noisy), twoPhaseLoss(10, 800, noisy), twoPhaseLoss(10, 300, noisy)}, []int{1}},
		"the other curve has too few points":                        {remaining.Curve{}, []remaining.Curve{twoPhaseLoss(10, 50, noisy)}, nil},
		"all curves are empty":                                      {remaining.Curve{}, make([]remaining.Curve, 2), nil},
		"a constant curve is not similar": {twoPhaseLoss(10, 200, noisy), []remaining.Curve{{Points: []remaining.Point{
			{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}, {5, 1, 1}, {900, 1, 1},
		}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.own.Similar(tc.others, 2000))
		})
	}
}
