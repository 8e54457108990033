package fairfinish_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// A job that always reports to be almost done is served first. It takes no more than the slack, so no other job ends later than under
// fair sharing: on the virtual node it runs on as long as it runs.
func TestDecide_UnderstatedWorkHarmsNoOtherJob(t *testing.T) {
	gained := 0
	for seed := range uint64(seeds(t, 100)) {
		tasks := draw(seed, 10, 1, seed%2 == 1)
		base := run(t, 1, tasks, fair)
		policy := harmless(t, config(fairfinish.Balanced, 1), false, nil)
		got := run(t, 1, tasks, func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
			for i, j := range jobs {
				if j.ID == "job-0" && !j.Finished {
					claim := remaining.Exact(min(j.Remaining.Likely, growth.Work(1+seed%20)))
					jobs[i].Remaining, jobs[i].ToTarget = claim, claim
				}
			}
			return policy(now, jobs)
		})
		gained += count(got[0].end < base[0].end-interval)
		for i := 1; i < len(tasks); i++ {
			bound := interval + 0.05*(base[i].end-base[i].arrival)
			require.LessOrEqual(t, got[i].end, base[i].end+bound, "seed %d, task %d of %+v", seed, i, tasks)
		}
	}
	require.Positive(t, gained)
}

// FuzzDecide has one job with arbitrary values next to two normal ones. Shares are fractions, and the normal jobs keep theirs.
func FuzzDecide(f *testing.F) {
	f.Add(10.0, 20.0, 30.0, 5.0, 1.0, 50.0, int64(1000), uint8(0))
	f.Add(math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), int64(-1), uint8(7))
	f.Add(-5.0, 1e300, math.Inf(1), -1.0, math.Inf(1), 1e300, int64(math.MaxInt64), uint8(3))
	f.Add(0.0, 0.0, 0.0, 0.0, -1.0, 0.0, int64(0), uint8(4))
	f.Add(1.0, 1e12, 1e12, 1e12, 1e9, 1e-9, int64(1), uint8(2))
	f.Fuzz(func(t *testing.T, low, likely, high, target, weight, used float64, limit int64, flags uint8) {
		c := config(fairfinish.Balanced, 2)
		if !math.IsInf(used, 0) {
			used = math.Mod(used, 40) // a counter of the kernel: at most what two cores can do
		}
		estimate := remaining.Estimate{Low: growth.Work(low), Likely: growth.Work(likely), High: growth.Work(high), Known: true}
		odd := fairfinish.Job{
			ID:        "odd",
			Remaining: estimate,
			ToTarget:  remaining.Estimate{Low: growth.Work(target), Likely: growth.Work(target), High: estimate.High, Known: true},
			Weight:    weight,
			Limit:     growth.MilliCPU(limit),
			Doubtful:  flags&1 > 0,
			FloorOnly: flags&2 > 0,
		}
		if flags&4 > 0 {
			odd.Deadline = fairfinish.UserDeadline{At: at(100), Work: estimate, Priority: weight}
		}
		normal := fairfinish.Job{ID: "normal", Remaining: remaining.Exact(100), ToTarget: remaining.Exact(20)}
		due := normal
		due.ID, due.Deadline = "due", fairfinish.UserDeadline{At: at(80), Work: remaining.Exact(100)}
		var s fairfinish.State
		for step := range 3 {
			jobs := []fairfinish.Job{odd, normal, due}
			jobs[0].Used = growth.Work(used * float64(step))
			var d fairfinish.Decision
			s, d = fairfinish.Decide(c, s, at(10*float64(step)), jobs)
			require.Positive(t, d.Next)
			require.LessOrEqual(t, d.Next, time.Minute)
			for _, g := range d.Grants {
				require.True(t, g.Share >= 0 && g.Share <= 1, "%+v", d)
			}
			require.Greater(t, float64(d.Grants[1].Share+d.Grants[2].Share), 0.001, "%+v", d)
			give := fairfinish.GiveWay(c, s, jobs, "due")
			require.False(t, math.IsNaN(float64(give.Lacking)))
			require.Less(t, len(give.Ways), 3)
			for _, end := range fairfinish.Expect(c, s, jobs)[1:] {
				require.False(t, math.IsNaN(float64(end.Likely)))
			}
		}
	})
}
