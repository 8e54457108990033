package fairfinish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// A little before half of its work is done a job's metric will be good; another ends a little sooner. If another job tells the first one's need, it
// is worth to be served first for; if its beginning does, it is not. The objectives at both ends do not care who tells.
func TestAForetoldNeedIsWorthMore(t *testing.T) {
	for name, tc := range map[string]struct {
		objective fairfinish.Objective
		foretold  bool
		first     growth.PodUID
	}{
		"balanced, foretold": {fairfinish.Balanced, true, "early"},
		"balanced, guessed":  {fairfinish.Balanced, false, "short"},
		"finish, foretold":   {fairfinish.Finish, true, "short"},
		"growth, guessed":    {fairfinish.Growth, false, "early"},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := []fairfinish.Job{
				{ID: "early", Remaining: remaining.Exact(200), ToTarget: remaining.Exact(86), TargetFromSimilar: tc.foretold},
				{ID: "short", Remaining: remaining.Exact(190), ToTarget: remaining.Exact(180)},
			}
			_, d := fairfinish.Decide(config(tc.objective, 1), fairfinish.State{}, at(0), jobs)
			require.Equal(t, tc.first, first(d))
		})
	}
}

// The interval is ten seconds, and a job that needs less keeps the others waiting only for that.
func TestADecisionHoldsUntilTheServedJobIsGood(t *testing.T) {
	for need, next := range map[growth.CoreSeconds]float64{4: 4, 100: 10, 0.1: 1} {
		jobs := []fairfinish.Job{
			{ID: "served", Remaining: remaining.Exact(190), ToTarget: remaining.Exact(need)},
			{ID: "waiting", Remaining: remaining.Exact(200), ToTarget: remaining.Exact(150)},
		}
		_, d := fairfinish.Decide(config(fairfinish.Growth, 1), fairfinish.State{}, at(0), jobs)
		require.Equal(t, growth.PodUID("served"), first(d))
		require.InDelta(t, next, d.Next.Seconds(), 0.1, "it needs %g core-seconds", float64(need))
	}
}
