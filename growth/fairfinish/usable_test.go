package fairfinish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// The job was once limited to 1 % of a core because its grant took effect late and the kernel does not report the wait.
// It is ahead of fair sharing, so it gets no more than the floor. It uses all of its grant, so its limit grows back to
// its true value.
func TestDecide_RecoversFromALimitThatIsTooSmall(t *testing.T) {
	state := fairfinish.State{}
	used := map[growth.PodUID]growth.Work{}
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
			used[g.ID] += growth.Work(float64(g.Share) * interval)
		}
	}
	require.InDelta(t, 1, state.Accounts["misjudged"].Limit, 1e-9)
}
