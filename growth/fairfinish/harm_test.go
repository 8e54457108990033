package fairfinish_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

const interval = 10.0

func config(objective fairfinish.Objective, cores float64) fairfinish.Config {
	return fairfinish.Config{Objective: objective, Floor: fairfinish.DefaultFloor, Interval: 10 * time.Second, Cores: growth.MilliCPU(1000 * cores)}
}

func seeds(t *testing.T, n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// latest is how much later than under fair sharing the most delayed task ends, in seconds.
func latest(t *testing.T, c fairfinish.Config, tasks []task) (worst float64) {
	t.Helper()
	base := run(t, c.Cores.Cores(), tasks, fair)
	got := run(t, c.Cores.Cores(), tasks, harmless(t, c, false, nil))
	for i := range tasks {
		worst = max(worst, got[i].end-base[i].end)
	}
	return worst
}

// The promise: sizes known, one core, any arrivals, weights and objective.
func TestOneCoreHarmsNobody(t *testing.T) {
	for seed := range uint64(seeds(t, 300)) {
		dice := rand.New(rand.NewPCG(seed, 1))
		tasks := draw(seed, 12, 1, seed%2 == 1)
		c := config(fairfinish.Objective(dice.Float64()), 1)
		require.LessOrEqual(t, latest(t, c, tasks), interval, "seed %d: %+v", seed, tasks)
	}
}

func TestManyCoresWithLimits(t *testing.T) {
	worst, which := 0.0, ""
	for seed := range uint64(seeds(t, 300)) {
		dice := rand.New(rand.NewPCG(seed, 2))
		cores := []float64{2, 3, 8}[seed%3]
		tasks := draw(seed, 10, cores, false)
		c := config(fairfinish.Objective(dice.Float64()), cores)
		if late := latest(t, c, tasks); late > worst {
			worst, which = late, fmt.Sprintf("seed %d, %g cores, objective %g: %+v", seed, cores, c.Objective, tasks)
		}
	}
	t.Log(worst, which)
}

// Shares add up to 1, everyone has one, and the machine is never idle while somebody can use it: here fair sharing and
// the policy must be done at the same time on one core.
func TestNothingIsLeftIdle(t *testing.T) {
	for seed := range uint64(seeds(t, 100)) {
		tasks := draw(seed, 12, 1, false)
		watch := func(d fairfinish.Decision) {
			sum := growth.Share(0)
			for _, g := range d.Grants {
				require.Positive(t, g.Share)
				require.NotEmpty(t, g.Reason)
				sum += g.Share
			}
			require.True(t, len(d.Grants) == 0 || sum > 1-1e-9 && sum < 1+1e-9)
			require.LessOrEqual(t, d.Next, 10*time.Second)
			require.GreaterOrEqual(t, d.Next, time.Second)
		}
		got := run(t, 1, tasks, harmless(t, config(.5, 1), false, watch))
		base := run(t, 1, tasks, fair)
		require.InDelta(t, end(base), end(got), 1e-3)
	}
}

func end(tasks []task) float64 {
	return slices.MaxFunc(tasks, func(a, b task) int { return int(1e6 * (a.end - b.end)) }).end
}

// The same input is the same decision, in whatever order the jobs come; and a coordinator that stores its state and
// starts again between any two decisions goes on as if nothing had happened.
func TestDeterministicAndResumable(t *testing.T) {
	for seed := range uint64(seeds(t, 50)) {
		tasks := draw(seed, 10, 4, true)
		c := config(.4, 4)
		once := run(t, 4, tasks, harmless(t, c, false, nil))
		require.Equal(t, once, run(t, 4, tasks, harmless(t, c, false, nil)))
		require.Equal(t, once, run(t, 4, tasks, harmless(t, c, true, nil)), "restarted")

		jobs := make([]fairfinish.Job, len(tasks))
		for i := range tasks {
			jobs[i] = tasks[i].job(i)
		}
		_, d := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
		slices.Reverse(jobs)
		_, r := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
		slices.Reverse(r.Grants)
		for i := range d.Grants {
			require.Equal(t, d.Grants[i].ID, r.Grants[i].ID)
			require.InDelta(t, float64(d.Grants[i].Share), float64(r.Grants[i].Share), 1e-9)
		}
	}
}
