package fairfinish_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// Ten jobs on one core: whether metrics are good early or late, and whether jobs come one by one or at once, balanced gains
// as much as it is to of the one, for what it gains of the other.
func TestBalancedGainsOfBoth(t *testing.T) {
	for name, tc := range map[string]struct{ within, earliest, latest float64 }{
		"good early":            {200, 0.15, 0.5},
		"good late":             {200, 0.4, 0.7},
		"good early, come soon": {40, 0.15, 0.5},
		"good late, come soon":  {40, 0.4, 0.7},
	} {
		t.Run(name, func(t *testing.T) {
			var was, is [2]float64 // sums of ages at the end, and when good
			for seed := range uint64(seeds(t, 40)) {
				dice := rand.New(rand.NewPCG(seed, 3))
				tasks := make([]task, 10)
				for i := range tasks {
					work := 32 + 280*dice.Float64()
					tasks[i] = task{arrival: tc.within * dice.Float64(), work: work, need: work * (tc.earliest + (tc.latest-tc.earliest)*dice.Float64()), limit: 1, weight: 1}
				}
				add(&was, t, tasks, func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
					shares, _ := fair(now, jobs)
					return shares, 1
				})
				add(&is, t, tasks, harmless(t, config(fairfinish.Balanced, 1), true, nil))
			}
			end, good := 1-is[0]/was[0], 1-is[1]/was[1]
			t.Logf("mean completion −%.1f %%, time to 95 %% −%.1f %%", 100*end, 100*good)
			require.Greater(t, end, 0.3)
			require.InDelta(t, 0.85, good/end, 0.1)
		})
	}
}

// add adds the ages at which tasks end and are good under a policy, as far as it is asked by then.
func add(sum *[2]float64, t *testing.T, tasks []task, decide decider) {
	seen := map[growth.PodUID]bool{}
	for _, k := range run(t, 1, tasks, func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
		for _, j := range jobs {
			if j.Need.Likely < 0.01 && !seen[j.ID] {
				seen[j.ID] = true
				sum[1] += now
			}
		}
		return decide(now, jobs)
	}) {
		sum[0] += k.end - k.arrival
		sum[1] -= k.arrival
	}
}
