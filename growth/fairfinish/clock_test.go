package fairfinish_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// The clock may have been set back while the coordinator was down.
func TestDecide_IgnoresAClockThatWasSetBack(t *testing.T) {
	c := fairfinish.Config{
		Objective: fairfinish.Balanced,
		Floor:     fairfinish.DefaultFloor,
		Interval:  10 * time.Second,
		Cores:     growth.Core,
	}
	began := time.Unix(1_700_000_000, 0)
	jobs := func(used growth.Work) []fairfinish.Job {
		return []fairfinish.Job{
			{ID: "a", Used: used, Remaining: remaining.Exact(100 - used)},
			{ID: "b", Used: used, Remaining: remaining.Exact(200 - used)},
		}
	}
	s, _ := fairfinish.Decide(c, fairfinish.State{}, began, jobs(0))
	before, _ := fairfinish.Decide(c, s, began.Add(10*time.Second), jobs(5))
	back, d := fairfinish.Decide(c, before, began.Add(-time.Hour), jobs(5))
	require.Equal(t, before.Accounts["a"].FairWork, back.Accounts["a"].FairWork)
	require.Equal(t, growth.Seconds(10), back.Accounts["b"].Age)
	require.Len(t, d.Grants, 2)

	on, _ := fairfinish.Decide(c, back, began.Add(-time.Hour+10*time.Second), jobs(10))
	require.InDelta(t, 10, float64(on.Accounts["a"].FairWork), 1e-9, "time counts again from the new clock value")
	require.Equal(t, growth.Seconds(20), on.Accounts["a"].Age)
}
