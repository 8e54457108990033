package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Two nodes share a bus. A job moves from one to the other, which continues its curve.
func TestMovedJob_IsNotNewToItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := newHarness(t), newHarness(t)
		to.bus = from.bus
		from.start(policy.Harmless)
		to.start(policy.Harmless)
		from.arrive("old")
		from.advance(time.Second)
		loss := func(step int) float64 { return 1 + 1/float64(step*step) }
		from.train(1, 20, map[string]func(int) float64{"old": loss})
		before := from.sample("old")
		require.Equal(t, growth.Converged, before.Category)
		from.put(bus.OriginKey(ref("new").UID), encode(t, before))
		from.remove("old")

		to.arrive("new")
		to.advance(time.Second)
		require.Equal(t, string(growth.Converged), to.annotations["new"][gpushare.CategoryAnnotation])
		to.train(21, 3, map[string]func(int) float64{"new": loss})
		after := to.sample("new")
		require.Equal(t, growth.Converged, after.Category)
		require.EqualValues(t, 24, after.Step)
		require.Empty(t, from.annotations["new"], "it does not run there")
	})
}
