package remaining_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/remaining"
)

func TestCurve_AtAndTruncate(t *testing.T) {
	var c remaining.Curve
	_, _, ok := c.At(1)
	require.False(t, ok, "an empty curve has no value")
	for step := 10.0; step <= 40; step += 10 {
		c.Add(step, 100-step)
	}
	_, _, ok = c.At(9)
	require.False(t, ok, "nothing is known before the first point")
	for step, want := range map[float64][2]float64{
		10: {90, 5},
		25: {75, 5},
		40: {60, 0},
		99: {60, 0},
	} {
		value, spread, ok := c.At(step)
		require.True(t, ok)
		require.Equal(t, want, [2]float64{value, spread}, "at step %g", step)
	}
	c.Truncate(25)
	require.Len(t, c.Points, 2)
	c.Add(30, 71)
	require.Equal(t, remaining.Point{Step: 30, Value: 71, Reports: 1}, c.Points[2])
	require.Equal(t, 90.0, *c.First, "the first report remains")
}
