package fairfinish_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// doubted believes that tasks are larger than they are by up to a quarter, and knows that they may be.
func doubted(tasks []task, seed uint64, decide decider) decider {
	dice := rand.New(rand.NewPCG(seed, 9))
	believed := map[growth.PodUID]growth.CoreSeconds{}
	for i, k := range tasks {
		believed[k.job(i).ID] = growth.CoreSeconds(k.work / (0.8 + 0.2*dice.Float64()))
	}
	return func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
		for i := range jobs {
			j := &jobs[i]
			whole := believed[j.ID]
			j.Remaining = remaining.Estimate{Low: max(0, 0.8*whole-j.Used), Likely: whole - j.Used, High: whole - j.Used, Known: true}
		}
		return decide(now, jobs)
	}
}

// Who may end any time is kept up with fair sharing, but for a small part of its time: so it ends no later than that.
func TestWhoEndsEarlyIsLittleLate(t *testing.T) {
	for name, tc := range map[string]struct {
		objective fairfinish.Objective
		behind    float64
	}{
		"balanced": {fairfinish.Balanced, 0.025},
		"between":  {0.7, 0.014},
		"growth":   {fairfinish.Growth, 0},
	} {
		t.Run(name, func(t *testing.T) {
			late, worst := 0, 0.0
			for seed := range uint64(seeds(t, 150)) {
				tasks := draw(seed, 12, 1, seed%2 == 1)
				base := run(t, 1, tasks, fair)
				got := run(t, 1, tasks, doubted(tasks, seed, harmless(t, config(tc.objective, 1), false, nil)))
				for i := range tasks {
					worst = max(worst, (got[i].end-base[i].end-interval)/(base[i].end-base[i].arrival))
					if bound := interval + tc.behind*(base[i].end-base[i].arrival); got[i].end > base[i].end+bound {
						late++
					}
				}
			}
			t.Logf("late %d, worst %.3f", late, worst)
			require.Zero(t, late)
		})
	}
}
