package fairfinish

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

func on(limit float64, gpus ...growth.GPU) Account {
	width := float64(len(gpus))
	return Account{Weight: width, Limit: limit * width, On: gpus}
}

// Worked by hand, in GPU-seconds per second.
func TestGPURates(t *testing.T) {
	for name, tc := range map[string]struct {
		accounts []Account
		want     []float64
	}{
		"one GPU":                         {[]Account{on(1, "a"), on(1, "a")}, []float64{.5, .5}},
		"a job that waits for data":       {[]Account{on(.2, "a"), on(1, "a")}, []float64{.2, .8}},
		"GPUs are independent":            {[]Account{on(1, "a"), on(1, "a"), on(1, "b")}, []float64{.5, .5, 1}},
		"a pair and one job on each":      {[]Account{on(1, "a", "b"), on(1, "a"), on(1, "b")}, []float64{1, .5, .5}},
		"a pair is as slow as on its one": {[]Account{on(1, "a", "b"), on(1, "a"), on(1, "a"), on(1, "b")}, []float64{2. / 3, 1. / 3, 1. / 3, 2. / 3}},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDeltaSlice(t, tc.want, fairRates(tc.accounts, 9), 1e-9)
		})
	}
}

func TestTimeShares_AreInProportionOnACommonGPU(t *testing.T) {
	got := TimeShares([]float64{3, 1, 5}, [][]growth.GPU{{"a", "b"}, {"a"}, {"c"}})
	require.InDeltaSlice(t, []float64{.75, .25, 1}, []float64{float64(got[0]), float64(got[1]), float64(got[2])}, 1e-9)
}

// The deficit of a job is the work that it must give up on the busiest of its GPUs, on all of them.
func TestPlan_DeficitOfGPUs(t *testing.T) {
	p := &plan{
		lengths:   []float64{10},
		limits:    []float64{2, 1, 1},
		due:       [][]float64{{12}, {7}, {4}}, // 6 s on both, 7 s, 4 s
		remaining: []float64{99, 99, 99},
		on:        [][]growth.GPU{{"a", "b"}, {"a"}, {"b"}},
	}
	require.InDelta(t, 3, p.deficit(), 1e-9)
	require.InDelta(t, 6, p.deficitOf(0), 1e-9)
	require.InDelta(t, 3, p.deficitOf(1), 1e-9)
	require.Zero(t, p.deficitOf(2))
}

// Predictions in core-seconds say nothing about GPUs: the sizes are unknown.
func TestDecide_IgnoresPredictionsInAnotherUnit(t *testing.T) {
	c := Config{Objective: Balanced, Floor: DefaultFloor, Interval: 10 * time.Second, Cores: growth.Core, Unit: growth.GPUSecond}
	jobs := []Job{
		{ID: "short", On: []growth.GPU{"a"}, Weight: 1, Limit: growth.Core, Remaining: remaining.Exact(5)},
		{ID: "long", On: []growth.GPU{"a"}, Weight: 1, Limit: growth.Core, Remaining: remaining.Exact(500)},
	}
	_, d := Decide(c, State{}, time.Unix(1, 0), jobs)
	require.InDelta(t, .5, float64(d.Grants[0].Share), 1e-6)
	for i := range jobs {
		jobs[i].Remaining.Unit = growth.GPUSecond
	}
	_, d = Decide(c, State{}, time.Unix(1, 0), jobs)
	require.Greater(t, float64(d.Grants[0].Share), .9)
	require.Contains(t, d.Grants[0].Reason, "5 GPU-seconds to its end")
}

// The first job needs 80 GPU-seconds on two GPUs to its target. The others have reached theirs and end after 95.
func TestDecide_ServesTheTargetOfAJobOnSeveralGPUs(t *testing.T) {
	for name, tc := range map[string]struct {
		objective Objective
		first     bool
	}{
		"finish":   {Finish, false},
		"balanced": {Balanced, true},
		"growth":   {Growth, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{Objective: tc.objective, Floor: DefaultFloor, Interval: 10 * time.Second, Cores: 2 * growth.Core, Unit: growth.GPUSecond}
			work := func(seconds growth.Work) remaining.Estimate {
				e := remaining.Exact(seconds)
				e.Unit = growth.GPUSecond
				return e
			}
			ending := func(id growth.PodUID, gpu growth.GPU) Job {
				return Job{ID: id, On: []growth.GPU{gpu}, Limit: growth.Core, Remaining: work(95), ToTarget: work(0)}
			}
			_, d := Decide(c, State{}, time.Unix(1, 0), []Job{
				{ID: "wide", On: []growth.GPU{"a", "b"}, Weight: 2, Limit: 2 * growth.Core, Remaining: work(800), ToTarget: work(80)},
				ending("one", "a"),
				ending("other", "b"),
			})
			require.Equal(t, tc.first, d.Grants[0].Share > .5, d.Grants)
		})
	}
}

// Each case learns for a minute, in intervals of ten seconds.
func TestAccount_LearnsWhatAJobCanUse(t *testing.T) {
	for name, tc := range map[string]struct {
		before     float64 // 0 if unknown
		used, wait float64 // fractions of the time
		low, high  float64
	}{
		"a job that is always ready":               {0, .3, .7, 1, 1},
		"a job that waits for data half the time":  {0, .5, 0, .5, .55},
		"the same job with a small share":          {0, .01, .98, .8, .95},
		"a job that has stopped to use the GPU":    {.9, 0, 0, .01, .1},
		"one that starts again with a small share": {.02, .02, .98, .1, .4},
		"one that starts again alone":              {.02, 1, 0, .9, 1},
		"a job that has never used the GPU":        {0, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := on(1, "a")
			if tc.before > 0 {
				a.UsableCores, a.Evidence = tc.before, mostEvidence
			}
			for range 6 {
				a.learnUsable(10, tc.used, tc.wait)
			}
			require.GreaterOrEqual(t, a.UsableCores, tc.low-1e-9)
			require.LessOrEqual(t, a.UsableCores, tc.high+1e-9)
		})
	}
}

// From a moment without waiting nothing follows that changes the shares of all others.
func TestAccount_LearnsLittleFromAMoment(t *testing.T) {
	a := on(1, "a")
	a.UsableCores, a.Evidence = .5, mostEvidence
	a.learnUsable(10, .001, .99) // 0.1 s without waiting
	require.InDelta(t, .5, a.UsableCores, .01)
	a.learnUsable(10, .01, .99)
	require.InDelta(t, .5, a.UsableCores, .01)

	earlier := on(1, "a")
	earlier.UsableCores = .5 // restored from the state of an earlier release
	earlier.learnUsable(10, .001, .99)
	require.InDelta(t, .5, earlier.UsableCores, .01)
}
