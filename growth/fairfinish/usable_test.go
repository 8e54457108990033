package fairfinish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// A job was once taken for a hundredth of what it is, for its grant came late and the kernel does not say who queues. It is
// ahead of fair sharing, gets no more than the floor, and has no chance to use more; but as it uses all that it gets, it is
// soon believed to be as wide as it is.
func TestWhoGetsLittleIsNotNarrowForEver(t *testing.T) {
	state := fairfinish.State{}
	used := map[growth.PodUID]growth.CoreSeconds{}
	var d fairfinish.Decision
	for n := range 20 {
		jobs := []fairfinish.Job{
			{ID: "first", Used: used["first"], Remaining: remaining.Exact(1000 - used["first"])},
			{ID: "misjudged", Used: used["misjudged"], Remaining: remaining.Exact(2000 - used["misjudged"])},
		}
		state, d = fairfinish.Decide(config(fairfinish.Finish, 1), state, at(float64(n)*interval), jobs)
		if n == 0 {
			a := state.Accounts["misjudged"]
			a.UsableCores, a.RealWork = 0.01, 500
			state.Accounts["misjudged"] = a
		}
		for _, g := range d.Grants {
			used[g.ID] += growth.CoreSeconds(float64(g.Share) * interval)
		}
	}
	require.InDelta(t, 1, state.Accounts["misjudged"].Limit, 1e-9)
}
