package remaining_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// A curve of 100 steps that goes from 2 to 1 at once: 95 % of its way is at 1.05.
func TestGoal(t *testing.T) {
	good, bad := 1.04, 1.06
	for name, tc := range map[string]struct {
		reports []float64
		met     bool
	}{
		"four are too few":      {[]float64{good, good, good, good}, false},
		"five in a row":         {[]float64{bad, good, good, good, good, good}, true},
		"one bad one between":   {[]float64{good, good, good, bad, good, good}, false},
		"what is no number":     {[]float64{good, good, good, math.NaN(), good, good}, false},
		"it stays met":          {[]float64{good, good, good, good, good, good}, true},
		"and ends with a worse": {[]float64{good, good, good, good, good, bad}, false},
	} {
		for way, direction := range map[string]growth.Direction{"loss": growth.Minimize, "accuracy": growth.Maximize} {
			t.Run(name+", "+way, func(t *testing.T) {
				sign := float64(direction)
				var c remaining.Curve
				for step := range 100 {
					c.Add(float64(step), sign*map[bool]float64{true: 2, false: 1}[step == 0])
				}
				goal := c.Goal(direction, 100)
				require.NotNil(t, goal)
				met := false
				for _, value := range tc.reports {
					met = goal.Met(sign * value)
				}
				require.Equal(t, tc.met, met)
			})
		}
	}
}

func TestNoGoal(t *testing.T) {
	var c remaining.Curve
	require.Nil(t, c.Goal(growth.Minimize, 100), "an empty curve")
	for step := range 50 {
		c.Add(float64(step), 1)
	}
	require.Nil(t, c.Goal(growth.Minimize, 100), "it has not come that far")
	require.Nil(t, c.Goal(growth.Minimize, 0), "the job's end is not known")
	require.NotNil(t, c.Goal(growth.Minimize, 50))
}
