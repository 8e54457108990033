package remaining_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/remaining"
)

// falling is the curve, up to a step, of a loss that falls by a half, twice: at once, and after the plateau that recurrent
// networks stay on for long, which no fit of its beginning foresees.
func falling(from, to float64, noise func() float64) (c remaining.Curve) {
	for step := from; step <= to; step += 10 {
		c.Add(step, 1+math.Exp(-step/50)+1/(1+math.Exp((step-1000)/50))+noise())
	}
	return c
}

func silent() float64 { return 0 }

func TestLike(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	noisy := func() float64 { return 0.05 * dice.NormFloat64() }
	slower := falling(10, 2000, noisy)
	for i := range slower.Points {
		slower.Points[i].Step *= 3
	}
	worse := falling(10, 2000, func() float64 { return 1 })
	for name, tc := range map[string]struct {
		own    remaining.Curve
		others []remaining.Curve
		want   []int
	}{
		"nobody":                              {falling(10, 200, noisy), nil, nil},
		"another seed":                        {falling(10, 200, noisy), []remaining.Curve{falling(10, 2000, noisy)}, []int{0}},
		"the closest":                         {falling(10, 200, silent), []remaining.Curve{falling(10, 1000, noisy), falling(10, 1000, silent), worse}, []int{1}},
		"the end before what is closer":       {falling(10, 200, silent), []remaining.Curve{falling(10, 1000, silent), falling(10, 2000, noisy), falling(10, 1000, silent)}, []int{1}},
		"all with the end, the closest first": {falling(10, 200, silent), []remaining.Curve{falling(10, 2000, noisy), falling(10, 2000, silent), worse}, []int{1, 0}},
		"the end of one unlike":               {falling(10, 200, silent), []remaining.Curve{slower, falling(10, 1000, noisy)}, []int{1}},
		"another learning rate":               {falling(10, 200, noisy), []remaining.Curve{slower}, nil},
		"another scale":                       {falling(10, 200, noisy), []remaining.Curve{worse}, nil},
		"it is behind":                        {falling(10, 200, noisy), []remaining.Curve{falling(10, 200, noisy)}, nil},
		"it began in the middle":              {falling(10, 200, noisy), []remaining.Curve{falling(500, 2000, noisy)}, nil},
		"no report yet: the furthest":         {remaining.Curve{}, []remaining.Curve{falling(10, 500, noisy), falling(10, 800, noisy), falling(10, 300, noisy)}, []int{1}},
		"hardly anything is known of another": {remaining.Curve{}, []remaining.Curve{falling(10, 50, noisy)}, nil},
		"no report anywhere":                  {remaining.Curve{}, make([]remaining.Curve, 2), nil},
		"it does not move": {falling(10, 200, noisy), []remaining.Curve{{Points: []remaining.Point{
			{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}, {5, 1, 1}, {900, 1, 1},
		}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.own.Similar(tc.others, 2000))
		})
	}
}
