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

// The first job has 150 units of work, or 120 at least, and has done 108. The second job has a
// larger index and takes everything that is not due.
func TestDecide_IsMoreCautiousOnGPUs(t *testing.T) {
	gpu := []growth.GPU{"gpu"}
	for name, tc := range map[string]struct {
		unit growth.Unit
		on   []growth.GPU
		fair growth.Work
		due  bool
	}{
		"on cores it may end from 120 on":           {growth.CoreSecond, nil, 112, false},
		"there it must keep up":                     {growth.CoreSecond, nil, 125, true},
		"on GPUs it may end from 110 on":            {growth.GPUSecond, gpu, 112, true},
		"there, too, it may lag behind before that": {growth.GPUSecond, gpu, 95, false},
	} {
		t.Run(name, func(t *testing.T) {
			account := func(fair, real growth.Work) fairfinish.Account {
				return fairfinish.Account{FairWork: fair, RealWork: real, Counter: real, Age: 200, On: tc.on}
			}
			state := fairfinish.State{At: at(0), Served: 1, Accounts: map[growth.PodUID]fairfinish.Account{
				"uncertain": account(tc.fair, 108),
				"first":     account(0, 100),
			}}
			left := remaining.Estimate{Low: 12, Likely: 42, High: 72, Known: true, Unit: tc.unit}
			exact := remaining.Exact(20)
			exact.Unit = tc.unit
			c := config(fairfinish.Balanced, 1)
			c.Unit = tc.unit
			_, d := fairfinish.Decide(c, state, at(0), []fairfinish.Job{
				{ID: "uncertain", Used: 108, Remaining: left, ToTarget: remaining.Estimate{Unit: tc.unit}, On: tc.on},
				{ID: "first", Used: 100, Remaining: exact, ToTarget: exact, On: tc.on},
			})
			require.Equal(t, tc.due, d.Grants[0].Share > 0.3, "%s: %s", d.Grants[0].Share, d.Grants[0].Reason)
		})
	}
}
