package fairfinish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Two equal jobs on one core. The second is paused from 10 s to 1000 s.
func TestDecide_PausedJobIsAsAbsent(t *testing.T) {
	c := config(fairfinish.Balanced, 1)
	jobs := []fairfinish.Job{
		{ID: "a", Remaining: remaining.Exact(2000)},
		{ID: "b", Remaining: remaining.Exact(2000)},
	}
	decide := func(s fairfinish.State, seconds float64) (fairfinish.State, fairfinish.Decision) {
		return fairfinish.Decide(c, s, at(seconds), jobs)
	}
	work := func(i int, used growth.Work) {
		jobs[i].Remaining = remaining.Exact(jobs[i].Remaining.Likely - (used - jobs[i].Used))
		jobs[i].Used = used
	}
	state, d := decide(fairfinish.State{}, 0)
	require.Len(t, d.Grants, 2)
	work(0, 5)
	work(1, 5)
	jobs[1].Paused = true
	state, d = decide(state, 10)
	require.Len(t, d.Grants, 1)
	require.Equal(t, growth.PodUID("a"), d.Grants[0].ID)
	require.InDelta(t, 1, float64(d.Grants[0].Share), 1e-9, "the other job gets all of the core")
	require.InDelta(t, 5, float64(state.Accounts["b"].FairWork), 1e-9, "it has run until now")

	for seconds := 20.0; seconds <= 1000; seconds += 10 {
		work(0, growth.Work(seconds-5))
		state, _ = decide(state, seconds)
	}
	require.InDelta(t, 5, float64(state.Accounts["b"].FairWork), 1e-9, "fair sharing does not serve it either")
	require.InDelta(t, 10, float64(state.Accounts["b"].Age), 1e-9)
	require.InDelta(t, 995, float64(state.Accounts["a"].FairWork), 2)

	jobs[1].Paused = false
	state, d = decide(state, 1000)
	require.Len(t, d.Grants, 2)
	require.False(t, d.Grants[1].Overdue)
	require.InDelta(t, 5, float64(state.Accounts["b"].FairWork), 1e-9)
	work(0, 1000)
	work(1, 10)
	state, _ = decide(state, 1010)
	require.InDelta(t, 10, float64(state.Accounts["b"].FairWork), 0.1, "half of a core again")
}

func TestDecide_PausedJobThatEndsIsForgotten(t *testing.T) {
	c := config(fairfinish.Balanced, 1)
	jobs := []fairfinish.Job{
		{ID: "a", Remaining: remaining.Exact(100)},
		{ID: "b", Remaining: remaining.Exact(100), Paused: true},
	}
	state, d := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
	require.Len(t, d.Grants, 1)
	state, _ = fairfinish.Decide(c, state, at(10), jobs[1:])
	_, d = fairfinish.Decide(c, state, at(11), jobs[1:])
	require.Empty(t, d.Grants)
	state, _ = fairfinish.Decide(c, state, at(20), nil)
	require.NotContains(t, state.Accounts, growth.PodUID("b"))
}
