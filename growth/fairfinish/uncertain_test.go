package fairfinish_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// A job that has probably reached its target competes with one that likely has 40 core-seconds to its target.
func TestDecide_ServesAJobUntilItHasCertainlyReachedItsTarget(t *testing.T) {
	likely := func(work, high growth.Work) remaining.Estimate {
		return remaining.Estimate{Likely: work, High: high, Known: true}
	}
	for name, tc := range map[string]struct {
		uncertain remaining.Estimate
		first     growth.PodUID
	}{
		"the target is certainly reached":                   {likely(0, 0), "new"},
		"the upper bound is far above the other job's work": {likely(0, 150), "new"},
		"the upper bound is above the other job's work":     {likely(0, 50), "new"},
		"the upper bound is below the other job's work":     {likely(0, 30), "uncertain"},
		"the likely work is less":                           {likely(30, 150), "uncertain"},
		"the likely work is more":                           {likely(50, 60), "new"},
		"the upper bound is infinite":                       {remaining.Estimate{Known: true, High: growth.Work(math.Inf(1))}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := []fairfinish.Job{
				{ID: "uncertain", Remaining: remaining.Exact(200), ToTarget: tc.uncertain},
				{ID: "new", Remaining: remaining.Exact(200), ToTarget: remaining.Exact(40)},
			}
			_, d := fairfinish.Decide(config(fairfinish.Growth, 1), fairfinish.State{}, at(0), jobs)
			require.Equal(t, tc.first, first(d))
		})
	}
}
