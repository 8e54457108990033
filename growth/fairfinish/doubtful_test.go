package fairfinish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// claimed gives each job the size that another node claims, until it has measured its own: after 5 core-seconds. The claim of every
// third job is right, the others are too small or too large by a factor of 100.
func claimed(decide decider, doubtful bool) decider {
	factors := []growth.Work{0.01, 1, 100}
	return func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
		for i, j := range jobs {
			if j.Used >= 5 || j.Finished {
				continue
			}
			factor := factors[j.ID[len(j.ID)-1]%3]
			jobs[i].Remaining = remaining.Exact(factor * j.Remaining.Likely)
			jobs[i].ToTarget = remaining.Exact(factor * j.ToTarget.Likely)
			jobs[i].Doubtful = doubtful
		}
		return decide(now, jobs)
	}
}

// Three in a hundred jobs are later by more than the bound for many cores, because they are the smallest. If sizes from other nodes
// entered fair sharing, it would be one in six.
func TestDecide_DoubtfulSizesHarmFewJobs(t *testing.T) {
	harmed := func(doubtful bool) (part float64) {
		late, all := 0, 0
		for seed := range uint64(seeds(t, 150)) {
			tasks := draw(seed, 12, 1, false)
			base := run(t, 1, tasks, fair)
			got := run(t, 1, tasks, claimed(harmless(t, config(fairfinish.Balanced, 1), false, nil), doubtful))
			for i := range tasks {
				bound := interval + 0.05*(base[i].end-base[i].arrival)
				late += count(got[i].end > base[i].end+bound)
				all++
			}
		}
		return float64(late) / float64(all)
	}
	doubted, believed := harmed(true), harmed(false)
	t.Logf("%.3f of the jobs are late, %.3f if the sizes are believed", doubted, believed)
	require.Less(t, doubted, 0.035)
	require.Greater(t, believed, 0.1)
}

// A claim that is far too small does not end the job on the virtual node, where it would lack the work of the time until it is
// corrected.
func TestDecide_DoubtfulSizesDoNotEnterFairSharing(t *testing.T) {
	c := config(fairfinish.Finish, 1)
	for name, claim := range map[string]growth.Work{"far too small": 1, "right": 100, "far too large": 10_000} {
		t.Run(name, func(t *testing.T) {
			jobs := []fairfinish.Job{
				{ID: "doubtful", Remaining: remaining.Exact(claim), Doubtful: true},
				{ID: "known", Remaining: remaining.Exact(100)},
			}
			s, d := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
			require.InDelta(t, 200, float64(d.Grants[1].FairFinish), 1e-6, "next to a job without an end")
			for i, g := range d.Grants {
				jobs[i].Used = growth.Work(20 * g.Share)
			}
			s, _ = fairfinish.Decide(c, s, at(20), jobs)
			require.InDelta(t, 10, float64(s.Accounts["doubtful"].FairWork), 1e-6)
		})
	}
}

func TestDecide_DoubtfulSizesOrderTheSlack(t *testing.T) {
	jobs := []fairfinish.Job{
		{ID: "long", Remaining: remaining.Exact(500), Doubtful: true},
		{ID: "short", Remaining: remaining.Exact(50), Doubtful: true},
		{ID: "known", Remaining: remaining.Exact(300)},
	}
	_, d := fairfinish.Decide(config(fairfinish.Finish, 1), fairfinish.State{}, at(0), jobs)
	require.Equal(t, growth.PodUID("short"), first(d))
	require.Contains(t, d.Grants[1].Reason, "50 core-seconds to its end")
	require.Contains(t, d.Grants[0].Reason, "only other nodes know its size")
}

// Without any size that the node knows itself, a doubtful one is worth nothing: the job is due its fair share at once.
func TestDecide_DoubtfulSizesWaitForThePlausibleSize(t *testing.T) {
	share := func(others ...fairfinish.Job) float64 {
		jobs := append([]fairfinish.Job{
			{ID: "claimed", Remaining: remaining.Exact(10_000), Doubtful: true},
			{ID: "short", Remaining: remaining.Exact(20), Doubtful: true},
		}, others...)
		_, d := fairfinish.Decide(config(fairfinish.Finish, 1), fairfinish.State{}, at(0), jobs)
		return float64(d.Grants[0].Share)
	}
	require.InDelta(t, 0.5, share(), 1e-6)
	require.Less(t, share(fairfinish.Job{ID: "known", Remaining: remaining.Exact(400)}), 0.05, "the shorter ones come first")
}
