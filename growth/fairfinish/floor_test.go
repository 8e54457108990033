package fairfinish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

func TestDecide_FloorOnlyGetsWhatNoOtherJobCanUse(t *testing.T) {
	sized := fairfinish.Job{Remaining: remaining.Exact(100), ToTarget: remaining.Exact(50)}
	unknown := fairfinish.Job{}
	lost := fairfinish.Job{FloorOnly: true}
	lostSized := fairfinish.Job{FloorOnly: true, Remaining: remaining.Exact(10), ToTarget: remaining.Exact(5)}
	half := fairfinish.Job{Limit: 500, Remaining: remaining.Exact(100)}
	for name, tc := range map[string]struct {
		jobs []fairfinish.Job
		want []float64
	}{
		"next to a job of known size":        {[]fairfinish.Job{lost, sized}, []float64{0.01, 0.99}},
		"next to a job of unknown size":      {[]fairfinish.Job{lost, unknown}, []float64{0.01, 0.99}},
		"also if it is short":                {[]fairfinish.Job{lostSized, sized}, []float64{0.01, 0.99}},
		"next to a job that cannot use more": {[]fairfinish.Job{lost, half}, []float64{0.5, 0.5}},
		"alone":                              {[]fairfinish.Job{lost}, []float64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range tc.jobs {
				tc.jobs[i].ID = growth.PodUID(rune('a' + i))
			}
			_, d := fairfinish.Decide(config(fairfinish.Balanced, 1), fairfinish.State{}, at(0), tc.jobs)
			for i, want := range tc.want {
				require.InDelta(t, want, float64(d.Grants[i].Share), 1e-3, d.Grants[i].Reason)
			}
		})
	}
}

// Jobs that are at their floor for a while harm no other job, neither then nor when they catch up.
func TestDecide_FloorOnlyHarmsNoOtherJob(t *testing.T) {
	for seed := range uint64(seeds(t, 100)) {
		tasks := draw(seed, 12, 1, seed%2 == 1)
		atFloor := map[growth.PodUID]bool{}
		for i := 0; i < len(tasks); i += 3 {
			atFloor[tasks[i].job(i).ID] = true
		}
		policy := harmless(t, config(fairfinish.Balanced, 1), false, nil)
		decide := func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
			for i, j := range jobs {
				jobs[i].FloorOnly = atFloor[j.ID] && now >= 50 && now < 250
			}
			return policy(now, jobs)
		}
		base, got := run(t, 1, tasks, fair), run(t, 1, tasks, decide)
		for i := range tasks {
			if i%3 != 0 {
				require.LessOrEqual(t, got[i].end, base[i].end+interval, "seed %d, task %d of %+v", seed, i, tasks)
			}
		}
	}
}

// The reason states what is due, not what a job gets: a job of unknown size may get more than its fair share, or less.
func TestDecide_ReasonIsTrueAtAnyShare(t *testing.T) {
	unknown := func(id growth.PodUID, used growth.Work, waited growth.Seconds) fairfinish.Job {
		return fairfinish.Job{ID: id, Used: used, CPUWait: waited, CPUWaitKnown: true}
	}
	c := config(fairfinish.Balanced, 1)
	state, d := fairfinish.Decide(c, fairfinish.State{}, at(0), []fairfinish.Job{unknown("a", 0, 0), unknown("b", 0, 0)})
	require.InDelta(t, 0.5, float64(d.Grants[0].Share), 1e-6)
	require.Equal(t, "its size is unknown: what fair sharing gives it is due", d.Grants[0].Reason)

	// Job a has had everything for 100 s. Job b catches up.
	_, d = fairfinish.Decide(c, state, at(100), []fairfinish.Job{unknown("a", 100, 0), unknown("b", 0, 100)})
	require.Less(t, float64(d.Grants[0].Share), 0.1)
	require.Greater(t, float64(d.Grants[1].Share), 0.9)
	for _, g := range d.Grants {
		require.Contains(t, g.Reason, "its size is unknown: what fair sharing gives it is due")
	}

	// Job a is alone.
	_, d = fairfinish.Decide(c, fairfinish.State{}, at(0), []fairfinish.Job{unknown("a", 0, 0)})
	require.InDelta(t, 1, float64(d.Grants[0].Share), 1e-6)
	require.Equal(t, "its size is unknown: what fair sharing gives it is due", d.Grants[0].Reason)
}
