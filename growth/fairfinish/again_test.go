package fairfinish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// A pod can be taken for ended and run again under the same UID.
func TestDecide_ServesAJobThatRunsAgain(t *testing.T) {
	jobs := []fairfinish.Job{{ID: "a", Remaining: remaining.Exact(100)}, {ID: "b", Remaining: remaining.Exact(100)}}
	c := config(fairfinish.Balanced, 1)
	state, _ := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
	jobs[1].Used = 4
	state, _ = fairfinish.Decide(c, state, at(4), jobs)
	state, _ = fairfinish.Decide(c, state, at(5), jobs[:1])
	require.True(t, state.Accounts["b"].Ended, "fair sharing would still serve it")
	state, d := fairfinish.Decide(c, state, at(6), jobs)
	require.Len(t, d.Grants, 2)
	require.False(t, state.Accounts["b"].Ended)
	require.Zero(t, state.Accounts["b"].Age)
}
