package fairfinish_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// quantile80 is the number of standard deviations within which 80 % of a normal distribution lie.
const quantile80 = 1.2816

// together returns tasks that arrive at once.
func together(seed uint64, count int, cores float64) []task {
	rng := rand.New(rand.NewPCG(seed, 11))
	tasks := make([]task, count)
	for i := range tasks {
		work := 50 + 400*rng.Float64()
		tasks[i] = task{work: work, target: work * rng.Float64(), weight: 1, limit: cores}
	}
	return tasks
}

// predictSizes returns estimates whose relative errors are normally distributed, by job.
func predictSizes(tasks []task, seed uint64, deviation float64) map[growth.PodUID]remaining.Estimate {
	rng := rand.New(rand.NewPCG(seed, 12))
	sizes := map[growth.PodUID]remaining.Estimate{}
	for i, k := range tasks {
		likely := k.work / math.Max(0.2, 1+deviation*rng.NormFloat64())
		sizes[k.job(i).ID] = remaining.Estimate{
			Low:    growth.Work(likely * (1 - quantile80*deviation)),
			Likely: growth.Work(likely),
			High:   growth.Work(likely * (1 + quantile80*deviation)),
			Known:  true,
		}
	}
	return sizes
}

// scaled multiplies an estimate.
func scaled(e remaining.Estimate, by growth.Work) remaining.Estimate {
	return remaining.Estimate{Low: e.Low * by, Likely: e.Likely * by, High: e.High * by, Known: e.Known}
}

func TestExpect_MatchesWhatHappens(t *testing.T) {
	for name, objective := range map[string]fairfinish.Objective{
		"finish": fairfinish.Finish, "balanced": fairfinish.Balanced, "growth": fairfinish.Growth,
	} {
		t.Run(name, func(t *testing.T) {
			const cores = 2
			off, all := 0.0, 0.0
			for seed := range uint64(10) {
				c := config(objective, cores)
				tasks := together(seed, 6, cores)
				jobs := make([]fairfinish.Job, len(tasks))
				for i, k := range tasks {
					jobs[i] = k.job(i)
				}
				state, _ := fairfinish.Decide(c, fairfinish.State{}, epoch, jobs)
				expected := fairfinish.Expect(c, state, jobs)
				for i, k := range run(t, cores, tasks, harmless(t, c, false, nil)) {
					require.True(t, expected[i].Known)
					off += math.Abs(float64(expected[i].Likely)/k.end - 1)
					all++
				}
			}
			require.Less(t, off/all, 0.05, "the mean error: a later decision may reverse the order of two similar jobs")
		})
	}
}

func TestExpectFair_MatchesFairSharing(t *testing.T) {
	tasks := together(1, 6, 2)
	jobs := make([]fairfinish.Job, len(tasks))
	for i, k := range tasks {
		jobs[i] = k.job(i)
	}
	expected := fairfinish.ExpectFair(config(fairfinish.Balanced, 2), jobs)
	for i, k := range run(t, 2, tasks, fair) {
		require.InDelta(t, k.end, float64(expected[i].Likely), 0.01)
	}
}

// Intervals that hold 80 % of the works give intervals that hold 75 to 85 % of the ends.
func TestExpect_Coverage(t *testing.T) {
	const cores = 2
	for name, deviation := range map[string]float64{"sizes within 10 %": 0.1 / quantile80, "sizes within 30 %": 0.3 / quantile80} {
		t.Run(name, func(t *testing.T) {
			covered, all := 0, 0
			for seed := range uint64(80) {
				c := config(fairfinish.Balanced, cores)
				tasks := together(seed, 6, cores)
				sizes := predictSizes(tasks, seed, deviation)
				var expected []fairfinish.End
				decide := harmless(t, c, false, nil)
				ran := run(t, cores, tasks, func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
					for i, j := range jobs {
						jobs[i].Remaining = scaled(sizes[j.ID], j.Remaining.Likely/(j.Remaining.Likely+j.Used))
					}
					if expected == nil {
						state, _ := fairfinish.Decide(c, fairfinish.State{}, epoch, jobs)
						expected = fairfinish.Expect(c, state, jobs)
					}
					return decide(now, jobs)
				})
				for i, k := range ran {
					all++
					if e := expected[i]; k.end >= float64(e.Low) && k.end <= float64(e.High) {
						covered++
					}
				}
			}
			part := float64(covered) / float64(all)
			t.Logf("%.3f of %d ends are in their interval", part, all)
			require.InDelta(t, 0.8, part, 0.05)
		})
	}
}

// Which of two equal jobs is served first depends on their targets. Until both are known, either may be the first.
func TestExpect_TheOrderMayChange(t *testing.T) {
	similar := remaining.Estimate{Low: 20, Likely: 40, High: 100, Known: true}
	for name, tc := range map[string]struct {
		first, second remaining.Estimate // the work to the targets
		fromSimilar   bool
		low           [2]float64 // bounds of Low of the job that is expected to end last
	}{
		"both targets are known":            {first: remaining.Exact(10), second: remaining.Exact(20), low: [2]float64{198, 202}},
		"both are from similar jobs":        {first: similar, second: similar, fromSimilar: true, low: [2]float64{198, 202}},
		"that of the first is unknown":      {second: remaining.Exact(20), low: [2]float64{100, 115}},
		"that of the second is unknown":     {first: remaining.Exact(10), low: [2]float64{100, 115}},
		"that of the first is little known": {first: similar, second: remaining.Exact(60), low: [2]float64{120, 135}},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(fairfinish.Finish, 1)
			jobs := []fairfinish.Job{
				{ID: "first", Remaining: remaining.Exact(100), ToTarget: tc.first, TargetFromSimilar: tc.fromSimilar},
				{ID: "second", Remaining: remaining.Exact(100), ToTarget: tc.second, TargetFromSimilar: tc.fromSimilar},
			}
			state, _ := fairfinish.Decide(c, fairfinish.State{}, epoch, jobs)
			all := fairfinish.Expect(c, state, jobs)
			last := all[0]
			if all[1].Likely > last.Likely {
				last = all[1]
			}
			require.InDelta(t, 200, float64(last.Likely), 2)
			require.GreaterOrEqual(t, float64(last.Low), tc.low[0])
			require.LessOrEqual(t, float64(last.Low), tc.low[1])
			require.LessOrEqual(t, float64(last.High), 202.0)
		})
	}
}

// No other job can be served before or after a job that is alone. No job ends before it could end alone.
func TestExpect_TheOrderOfOneJob(t *testing.T) {
	c := config(fairfinish.Balanced, 1)
	size := remaining.Estimate{Low: 50, Likely: 100, High: 150, Known: true}
	for name, jobs := range map[string][]fairfinish.Job{
		"alone":                  {{ID: "a", Remaining: size}},
		"next to a small job":    {{ID: "a", Remaining: size}, {ID: "b", Remaining: remaining.Exact(1)}},
		"next to one like it":    {{ID: "a", Remaining: size}, {ID: "b", Remaining: size}},
		"next to an unsized job": {{ID: "a", Remaining: size}, {ID: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			state, _ := fairfinish.Decide(c, fairfinish.State{}, epoch, jobs)
			low := float64(fairfinish.Expect(c, state, jobs)[0].Low)
			require.GreaterOrEqual(t, low, 49.9)
			if len(jobs) == 1 {
				require.InDelta(t, 50, low, 0.1)
			}
		})
	}
}

func TestExpect_UnknownSizes(t *testing.T) {
	c := config(fairfinish.Balanced, 1)
	jobs := []fairfinish.Job{
		{ID: "known", Remaining: remaining.Exact(100)},
		{ID: "unknown"},
		{ID: "gpu", Remaining: remaining.Estimate{Likely: 5, High: 5, Known: true, Unit: growth.GPUSecond}},
	}
	state, _ := fairfinish.Decide(c, fairfinish.State{}, epoch, jobs)
	ends := fairfinish.Expect(c, state, jobs)
	require.True(t, ends[0].Known)
	require.InDelta(t, 300, float64(ends[0].Likely), 1, "a third of one core each")
	require.Equal(t, []fairfinish.End{{}, {}}, ends[1:])
}

func TestExpect_OnGPUs(t *testing.T) {
	c := config(fairfinish.Finish, 2)
	c.Unit = growth.GPUSecond
	gpuJob := func(id growth.PodUID, work growth.Work, on ...growth.GPU) fairfinish.Job {
		e := remaining.Exact(work)
		e.Unit = growth.GPUSecond
		return fairfinish.Job{ID: id, Remaining: e, ToTarget: e, On: on, Weight: float64(len(on))}
	}
	jobs := []fairfinish.Job{gpuJob("short", 10, "a"), gpuJob("long", 50, "a"), gpuJob("alone", 30, "b")}
	state, _ := fairfinish.Decide(c, fairfinish.State{}, epoch, jobs)
	ends := fairfinish.Expect(c, state, jobs)
	require.InDelta(t, 10, float64(ends[0].Likely), 1)
	require.InDelta(t, 60, float64(ends[1].Likely), 1)
	require.InDelta(t, 30, float64(ends[2].Likely), 1)
}
