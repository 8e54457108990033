package fairfinish_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// A job that is likely good, but perhaps not, competes with one that likely needs 40 core-seconds.
func TestPerhapsNotGoodYet(t *testing.T) {
	likely := func(work, most growth.CoreSeconds) remaining.Estimate {
		return remaining.Estimate{Likely: work, High: most, Known: true}
	}
	for name, tc := range map[string]struct {
		doubtful remaining.Estimate
		first    growth.PodUID
	}{
		"surely good":                   {likely(0, 0), "fresh"},
		"perhaps with much missing":     {likely(0, 150), "fresh"},
		"perhaps with more missing":     {likely(0, 50), "fresh"},
		"perhaps with a little missing": {likely(0, 30), "doubtful"},
		"what it likely needs is less":  {likely(30, 150), "doubtful"},
		"and is more":                   {likely(50, 60), "fresh"},
		"no bound is known":             {remaining.Estimate{Known: true, High: growth.CoreSeconds(math.Inf(1))}, "fresh"},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := []fairfinish.Job{
				{ID: "doubtful", Remaining: remaining.Exact(200), ToTarget: tc.doubtful},
				{ID: "fresh", Remaining: remaining.Exact(200), ToTarget: remaining.Exact(40)},
			}
			_, d := fairfinish.Decide(config(fairfinish.Growth, 1), fairfinish.State{}, at(0), jobs)
			require.Equal(t, tc.first, first(d))
		})
	}
}
