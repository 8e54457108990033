package loader_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// brute is the reference implementation of Allocate: it tries every allocation.
func brute(jobs []loader.Job, budget int) float64 {
	if len(jobs) == 0 {
		return 0
	}
	best := math.Inf(-1)
	for w := 0; w <= len(jobs[0].Curve) && (w == 0 || w*max(1, jobs[0].Width) <= budget); w++ {
		best = math.Max(best, jobs[0].Value(w)+brute(jobs[1:], budget-w*max(1, jobs[0].Width)))
	}
	return best
}

// randomJobs returns random jobs and a budget: curves of models and arbitrary curves, equal and different widths.
func randomJobs(rng *rand.Rand) ([]loader.Job, int) {
	arbitrary, equal := rng.IntN(2) == 0, rng.IntN(2) == 0
	jobs := make([]loader.Job, 1+rng.IntN(4))
	for i := range jobs {
		curve := loader.Model{
			Parallel: growth.Seconds(rng.ExpFloat64() / 50), Serial: growth.Seconds(rng.ExpFloat64() / 2000),
			Compute: growth.Seconds(rng.ExpFloat64() / 100),
		}.Curve(1 + rng.IntN(8))
		if arbitrary {
			for w := range curve {
				curve[w] = growth.PerSecond(rng.IntN(6))
			}
		}
		jobs[i] = loader.Job{
			UID:    growth.PodUID("job-" + strconv.Itoa(i)),
			Weight: loader.Weight(rng.IntN(4)),
			Width:  1,
			Curve:  curve,
		}
		if !equal {
			jobs[i].Width = 1 + rng.IntN(3)
		}
	}
	return jobs, rng.IntN(25)
}

func TestAllocate_MatchesExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		jobs, budget := randomJobs(rng)
		got := loader.Allocate(jobs, budget)
		require.LessOrEqual(t, got.Cores(jobs), budget)
		require.InEpsilon(t, 1+brute(jobs, budget), 1+got.Value(jobs), 1e-9, "%v on %d cores got %v", jobs, budget, got)
	}
}

func TestAllocate_IsMonotoneInTheBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		jobs, _ := randomJobs(rng)
		before := -1.0
		for budget := range 24 {
			value := loader.Allocate(jobs, budget).Value(jobs)
			require.GreaterOrEqual(t, value, before-1e-9)
			before = value
		}
	}
}

func TestAllocate_IgnoresTheOrderOfJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		jobs, budget := randomJobs(rng)
		want := loader.Allocate(jobs, budget)
		rng.Shuffle(len(jobs), func(a, b int) { jobs[a], jobs[b] = jobs[b], jobs[a] })
		require.Equal(t, want, loader.Allocate(jobs, budget))
	}
}

func TestAllocate_AssignsNoUselessWorker(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		jobs, _ := randomJobs(rng)
		got := loader.Allocate(jobs, 1000)
		for _, j := range jobs {
			if w := got[j.UID]; w > 0 {
				require.Greater(t, j.Value(w), j.Value(w-1))
			}
		}
	}
}

func TestAllocate(t *testing.T) {
	bound := loader.Curve{100, 200, 300, 300, 300} // compute-bound from two workers on
	for name, c := range map[string]struct {
		jobs   []loader.Job
		budget int
		want   loader.Allocation
	}{
		"there are no jobs":         {nil, 4, loader.Allocation{}},
		"the budget is 0":           {[]loader.Job{{UID: "a", Weight: 1, Curve: bound}}, 0, loader.Allocation{"a": 0}},
		"the budget is negative":    {[]loader.Job{{UID: "a", Weight: 1, Curve: bound}}, -3, loader.Allocation{"a": 0}},
		"useless cores stay unused": {[]loader.Job{{UID: "a", Weight: 1, Curve: bound}}, 24, loader.Allocation{"a": 2}},
		"ties go to the lower UID": {
			[]loader.Job{{UID: "b", Weight: 1, Curve: bound}, {UID: "a", Weight: 1, Curve: bound}}, 1,
			loader.Allocation{"a": 1, "b": 0},
		},
		"the only core goes to the growing job": {
			[]loader.Job{{UID: "old", Weight: .02, Curve: bound}, {UID: "young", Weight: .9, Curve: bound}}, 1,
			loader.Allocation{"old": 0, "young": 1},
		},
		"a growing job that never waits gets none": {
			[]loader.Job{
				{UID: "old", Weight: .02, Curve: bound},
				{UID: "young", Weight: .9, Curve: loader.Curve{80, 80, 80}},
			}, 1,
			loader.Allocation{"old": 1, "young": 0},
		},
		"two devices take workers in pairs": {
			[]loader.Job{
				{
					UID:    "a",
					Weight: 1,
					Width:  2,
					Curve:  bound,
				},
				{
					UID:    "b",
					Weight: 1,
					Width:  1,
					Curve:  bound,
				},
			}, 3,
			loader.Allocation{"a": 1, "b": 1},
		},
		"the budget covers a dip in the curve": {
			[]loader.Job{{UID: "a", Weight: 1, Curve: loader.Curve{10, 5, 30, 20}}}, 3, loader.Allocation{"a": 2},
		},
		"the budget ends in a dip of the curve": {
			[]loader.Job{{UID: "a", Weight: 1, Curve: loader.Curve{10, 5, 30, 20}}}, 1, loader.Allocation{"a": 0},
		},
		"invalid weights and curves have no value": {
			[]loader.Job{
				{
					UID:    "nan",
					Weight: loader.Weight(math.NaN()),
					Curve:  bound,
				}, {UID: "inf", Weight: loader.Weight(math.Inf(1)), Curve: bound},
				{UID: "less", Weight: -1, Curve: bound}, {UID: "none", Weight: 1}, {UID: "a", Weight: 1, Curve: bound},
				{
					UID:    "wild",
					Weight: 1,
					Curve:  loader.Curve{growth.PerSecond(math.NaN()), growth.PerSecond(math.Inf(1)), -4},
				},
			}, 8,
			loader.Allocation{"nan": 0, "inf": 0, "less": 0, "none": 0, "wild": 0, "a": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := loader.Allocate(c.jobs, c.budget)
			require.Equal(t, c.want, got)
			require.False(t, math.IsNaN(got.Value(c.jobs)))
		})
	}
}

func TestCurve_Hull(t *testing.T) {
	for name, c := range map[string]struct{ curve, want loader.Curve }{
		"an empty curve":             {loader.Curve{}, loader.Curve{}},
		"a rising curve":             {loader.Curve{1, 2, 3}, loader.Curve{1, 2, 3}},
		"a declining end is cut off": {loader.Curve{4, 7, 8, 8, 6}, loader.Curve{4, 7, 8}},
		"a dip is levelled":          {loader.Curve{4, 3, 8}, loader.Curve{4, 4, 8}},
		"a falling curve":            {loader.Curve{4, 3, 2}, loader.Curve{4}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.curve)
			require.Equal(t, c.want, c.curve.Hull())
			require.Equal(t, before, c.curve, "Hull must not modify the curve")
		})
	}
}

func BenchmarkAllocateManyCores(b *testing.B) {
	jobs := make([]loader.Job, 16)
	for i := range jobs {
		jobs[i] = loader.Job{
			UID:    growth.PodUID(strconv.Itoa(i)),
			Weight: 1,
			Width:  1 + i%3,
			Curve:  loader.Published().Curve(64),
		}
	}
	for b.Loop() {
		loader.Allocate(jobs, 512)
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		cores          growth.MilliCPU
		training, want int
	}{
		{1000, 0, 1}, {1000, 1, 0}, {1000, 10, 0}, {7900, 2, 5}, {500, 0, 0}, {0, 0, 0},
	} {
		require.Equal(t, c.want, loader.Budget(c.cores, c.training), "%+v", c)
	}
}
