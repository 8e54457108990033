package fairfinish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// One job reaches its target a little before half of its work is done; the other ends a little earlier. The first one
// is served first only if similar jobs predict its target. Finish and growth ignore where the prediction comes from.
func TestDecide_PrefersATargetPredictedBySimilarJobs(t *testing.T) {
	for name, tc := range map[string]struct {
		objective fairfinish.Objective
		similar   bool
		first     growth.PodUID
	}{
		"balanced, target from similar jobs":  {fairfinish.Balanced, true, "early"},
		"balanced, target from its own curve": {fairfinish.Balanced, false, "short"},
		"finish, target from similar jobs":    {fairfinish.Finish, true, "short"},
		"growth, target from its own curve":   {fairfinish.Growth, false, "early"},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := []fairfinish.Job{
				{
					ID:                "early",
					Remaining:         remaining.Exact(200),
					ToTarget:          remaining.Exact(86),
					TargetFromSimilar: tc.similar,
				},
				{ID: "short", Remaining: remaining.Exact(190), ToTarget: remaining.Exact(180)},
			}
			_, d := fairfinish.Decide(config(tc.objective, 1), fairfinish.State{}, at(0), jobs)
			require.Equal(t, tc.first, first(d))
		})
	}
}

// The interval is ten seconds. A job with less work to target makes the other wait only that long.
func TestDecide_HoldsUntilTheServedJobReachesItsTarget(t *testing.T) {
	for toTarget, next := range map[growth.Work]float64{4: 4, 100: 10, 0.1: 1} {
		jobs := []fairfinish.Job{
			{ID: "served", Remaining: remaining.Exact(190), ToTarget: remaining.Exact(toTarget)},
			{ID: "waiting", Remaining: remaining.Exact(200), ToTarget: remaining.Exact(150)},
		}
		_, d := fairfinish.Decide(config(fairfinish.Growth, 1), fairfinish.State{}, at(0), jobs)
		require.Equal(t, growth.PodUID("served"), first(d))
		require.InDelta(t, next, d.Next.Seconds(), 0.1, "%g core-seconds to target", float64(toTarget))
	}
}
