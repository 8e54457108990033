package remaining_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// decay is a loss of 1 + 2·exp(−step/100), with noise in its unit.
func decay(steps int, noise float64, random *rand.Rand) remaining.Curve {
	var c remaining.Curve
	for step := 1; step <= steps; step++ {
		c.Add(float64(step), 1+2*math.Exp(-float64(step)/100)+noise*random.NormFloat64())
	}
	return c
}

// stepOf returns the step at which decay has a value.
func stepOf(value float64) float64 { return -100 * math.Log((value-1)/2) }

func TestCurve_Reached(t *testing.T) {
	for name, tc := range map[string]struct {
		values    []float64
		direction growth.Direction
		want      bool
	}{
		"no report":                        {nil, growth.Minimize, false},
		"too few reports":                  {[]float64{.01, .01, .01, .01}, growth.Minimize, false},
		"all reports":                      {[]float64{.04, .04, .04, .04, .04}, growth.Minimize, true},
		"exactly the value":                {[]float64{.05, .05, .05, .05, .05}, growth.Minimize, true},
		"one report":                       {[]float64{.06, .06, .06, .06, .01}, growth.Minimize, false},
		"two outliers of zero":             {[]float64{.06, .06, 0, .06, 0}, growth.Minimize, false},
		"most of the last reports":         {[]float64{.9, .9, .06, .04, .04, .06, .04}, growth.Minimize, true},
		"worse again":                      {[]float64{.04, .04, .04, .04, .06, .06, .06}, growth.Minimize, false},
		"a score that is not high enough":  {[]float64{.04, .04, .04, .04, .04}, growth.Maximize, false},
		"a score":                          {[]float64{.01, .02, .05, .06, .07, .06, .07}, growth.Maximize, true},
		"a negative metric that maximises": {[]float64{-9, -9, -.1, -.1, -.1, -.1, -.1}, growth.Maximize, false},
	} {
		t.Run(name, func(t *testing.T) {
			var c remaining.Curve
			for i, value := range tc.values {
				c.Add(float64(i+1), value)
			}
			require.Equal(t, tc.want, c.Reached(.05, tc.direction))
		})
	}
}

// Noise of a quarter of the distance to the target at the start must not end a job's claim much before the mean is there.
func TestCurve_ReachedIsRobustToNoise(t *testing.T) {
	const value = 1.5
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 7))
		var c remaining.Curve
		reached := 0
		for step := 1; step <= 400 && reached == 0; step++ {
			c.Add(float64(step), 1+2*math.Exp(-float64(step)/100)+.3*random.NormFloat64())
			if c.Reached(value, growth.Minimize) {
				reached = step
			}
		}
		mean := 1 + 2*math.Exp(-float64(reached)/100)
		require.InDelta(t, value, mean, .35, "seed %d: reached at step %d", seed, reached)
	}
}

func TestCurve_WorkToValue(t *testing.T) {
	for name, tc := range map[string]struct {
		steps int
		total float64
		value float64
		want  float64 // in steps; 0 for unknown
	}{
		"in sight":                      {150, 1000, 1.2, stepOf(1.2) - 150},
		"without a total":               {150, 0, 1.2, stepOf(1.2) - 150},
		"at the next step":              {150, 1000, 2.5, 1},
		"below what the curve comes to": {150, 1000, 0.5, 0},
		"after the job's end":           {150, 160, 1.2, 0},
		"too few reports":               {4, 1000, 1.2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := decay(tc.steps, .02, rand.New(rand.NewPCG(1, 2)))
			p := remaining.Progress{Done: float64(tc.steps), Total: tc.total, StepCost: 2, Unit: growth.GPUSecond}
			got := c.WorkToValue(tc.value, growth.Minimize, p)
			require.Equal(t, tc.want > 0, got.Known)
			if !got.Known {
				return
			}
			require.InEpsilon(t, 2*tc.want, float64(got.Likely), .25)
			require.LessOrEqual(t, got.Low, got.Likely)
			require.LessOrEqual(t, got.Likely, got.High)
			require.False(t, math.IsInf(float64(got.High), 0))
			require.Equal(t, growth.GPUSecond, got.Unit)
			require.False(t, c.WorkToValue(tc.value, growth.Maximize, p).Known, "the metric moves in the wrong direction")
			p.StepCost = 0
			require.False(t, c.WorkToValue(tc.value, growth.Minimize, p).Known, "the cost of a step is unknown")
		})
	}
}
