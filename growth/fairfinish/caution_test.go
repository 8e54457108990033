package fairfinish_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// overestimated predicts sizes that are up to 25 % too large, with a lower end that contains the true size.
func overestimated(tasks []task, seed uint64, decide decider) decider {
	rng := rand.New(rand.NewPCG(seed, 9))
	predicted := map[growth.PodUID]growth.Work{}
	for i, k := range tasks {
		predicted[k.job(i).ID] = growth.Work(k.work / (0.8 + 0.2*rng.Float64()))
	}
	return func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
		for i := range jobs {
			j := &jobs[i]
			whole := predicted[j.ID]
			j.Remaining = remaining.Estimate{
				Low:    max(0, 0.8*whole-j.Used),
				Likely: whole - j.Used,
				High:   whole - j.Used,
				Known:  true,
			}
		}
		return decide(now, jobs)
	}
}

// A job that may end at any time keeps up with fair sharing except for a bounded lag, which bounds its delay.
func TestDecide_BoundsTheDelayOfJobsThatEndEarly(t *testing.T) {
	for name, tc := range map[string]struct {
		objective fairfinish.Objective
		lag       float64
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
				got := run(t, 1, tasks, overestimated(tasks, seed, harmless(t, config(tc.objective, 1), false, nil)))
				for i := range tasks {
					worst = max(worst, (got[i].end-base[i].end-interval)/(base[i].end-base[i].arrival))
					if bound := interval + tc.lag*(base[i].end-base[i].arrival); got[i].end > base[i].end+bound {
						late++
					}
				}
			}
			t.Logf("%d jobs late, largest delay %.3f", late, worst)
			require.Zero(t, late)
		})
	}
}
