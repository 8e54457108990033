package fairfinish_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Other processes use a quarter of the configured cores. No job is limited because of that, and the gain is almost the
// same as with the true capacity configured.
func TestDecide_LearnsTheCapacityOfANodeInUse(t *testing.T) {
	const actual = 0.75
	var sum, known, unknown float64
	for seed := range uint64(seeds(t, 100)) {
		tasks := draw(seed, 12, 1, false)
		base := run(t, actual, tasks, fair)
		declaredRun := run(t, actual, tasks, harmless(t, config(fairfinish.Balanced, actual), false, nil))
		got := run(t, actual, tasks, harmless(t, config(fairfinish.Balanced, 1), false, nil))
		for i, k := range base {
			took := k.end - k.arrival
			sum, known, unknown = sum+took, known+declaredRun[i].end-k.arrival, unknown+got[i].end-k.arrival
			require.LessOrEqual(t, got[i].end, k.end+interval+0.05*took, "seed %d, task %d", seed, i)
		}
	}
	t.Logf("mean completion time, fair sharing = 1: cores known %.3f, unknown %.3f", known/sum, unknown/sum)
	require.Less(t, unknown, known+0.1*(sum-known))
}

// Jobs declare no limits. The policy learns them from the wait for a CPU, or from a comparison of the jobs where the
// kernel does not report it. The baseline is what the kernel does with the same jobs.
func TestDecide_LearnsUndeclaredLimits(t *testing.T) {
	for name, waitKnown := range map[string]bool{
		"from the wait for a CPU":       true,
		"from a comparison of the jobs": false,
	} {
		t.Run(name, func(t *testing.T) {
			var sum, declared, learned float64
			worst, harmed, n := 0.0, 0, 0
			for seed := range uint64(seeds(t, 100)) {
				rng := rand.New(rand.NewPCG(seed, 9))
				cores := []float64{2, 4, 8}[seed%3]
				tasks := draw(seed, 12, cores, false)
				c := config(fairfinish.Objective(rng.Float64()), cores)
				base, declaredRun := run(t, cores, tasks, fair), run(t, cores, tasks, harmless(t, c, false, nil))
				policy := harmless(t, c, false, nil)
				arrived := map[growth.PodUID]float64{}
				got := run(t, cores, tasks, func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
					for i, j := range jobs {
						if _, known := arrived[j.ID]; !known {
							arrived[j.ID] = now
						}
						if waitKnown {
							jobs[i].CPUWait, jobs[i].CPUWaitKnown = growth.Seconds(now-arrived[j.ID]-float64(j.Used)/j.Limit.Cores()), true
						}
						jobs[i].Limit = 0
					}
					return policy(now, jobs)
				})
				for i, k := range base {
					took := k.end - k.arrival
					sum, declared, learned = sum+took, declared+declaredRun[i].end-k.arrival, learned+got[i].end-k.arrival
					worst = max(worst, (got[i].end-k.end-interval)/took)
					if n++; got[i].end-k.end > interval+0.05*took {
						harmed++
					}
				}
			}
			t.Logf("mean completion time, fair sharing = 1: declared %.3f, learned %.3f; %d of %d jobs harmed, at most %.1f %% and an interval late", declared/sum, learned/sum, harmed, n, 100*worst)
			require.Less(t, learned, declared+0.1*(sum-declared))
			require.LessOrEqual(t, float64(harmed), 0.03*float64(n))
		})
	}
}

// A grant takes half an interval to reach the kernel. Until then the job waits for a CPU and is not limited.
func TestDecide_ToleratesLateGrants(t *testing.T) {
	const late = interval / 2
	var sum, prompt, learned float64
	for seed := range uint64(seeds(t, 100)) {
		tasks := draw(seed, 12, 1, false)
		c := config(fairfinish.Balanced, 1)
		base, at := run(t, 1, tasks, fair), run(t, 1, tasks, harmless(t, c, false, nil))
		got := run(t, 1, tasks, withDelay(late, harmless(t, c, false, nil)))
		for i, k := range base {
			sum, prompt, learned = sum+k.end-k.arrival, prompt+at[i].end-k.arrival, learned+got[i].end-k.arrival
		}
	}
	t.Logf("mean completion time, fair sharing = 1: at once %.3f, %.0f s late %.3f", prompt/sum, late, learned/sum)
	require.Less(t, learned, prompt+0.2*(sum-prompt))
}

// withDelay returns a decider whose shares take effect some time after each decision. Jobs that want more wait for a CPU.
func withDelay(late float64, decide decider) decider {
	arrived, had, next := map[growth.PodUID]float64{}, map[growth.PodUID]float64{}, map[growth.PodUID]float64{}
	decided, due := math.Inf(-1), 0.0
	return func(now float64, jobs []fairfinish.Job) (shares []float64, again float64) {
		running := slices.DeleteFunc(slices.Clone(jobs), func(j fairfinish.Job) bool { return j.Finished })
		changed := len(running) != len(next)
		for i, j := range jobs {
			if _, known := arrived[j.ID]; !known {
				arrived[j.ID], changed = now, true
			}
			jobs[i].CPUWait, jobs[i].CPUWaitKnown = growth.Seconds(now-arrived[j.ID]-float64(j.Used)), true
		}
		if changed || now >= due-1e-9 {
			had, next = next, map[growth.PodUID]float64{}
			granted, after := decide(now, jobs)
			for i, j := range running {
				next[j.ID] = granted[i]
			}
			decided, due = now, now+after
		}
		in, again := next, due-now
		if left := decided + late - now; left > 1e-9 {
			in, again = had, min(again, left)
		}
		for _, j := range running {
			share, known := in[j.ID]
			if !known {
				share = 1 / float64(len(running))
			}
			shares = append(shares, share)
		}
		return shares, max(again, 1e-3)
	}
}

// Four equal jobs get new estimates at every decision. The job that is first stays first for several intervals. With
// uncertain sizes no job runs to its end at once, since it or a waiting job may be smaller than predicted.
func TestDecide_SeldomAlternatesBetweenSimilarJobs(t *testing.T) {
	for name, tc := range map[string]struct{ relativeError, maxChanges float64 }{
		"exact sizes":       {0, 4},
		"errors up to 2 %":  {0.02, 7},
		"errors up to 10 %": {0.1, 18},
	} {
		t.Run(name, func(t *testing.T) {
			changes := 0
			for seed := range uint64(20) {
				changes += countChanges(t, seed, tc.relativeError)
			}
			t.Logf("%.1f changes of the first of 4 jobs", float64(changes)/20)
			require.LessOrEqual(t, float64(changes)/20, tc.maxChanges)
		})
	}
}

// countChanges returns how often another of four equal jobs becomes the first, until all have ended.
func countChanges(t *testing.T, seed uint64, relativeError float64) (changes int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	tasks := make([]task, 4)
	for i := range tasks {
		tasks[i] = task{
			work:   200,
			target: 100,
			limit:  1,
			weight: 1,
		}
	}
	var before growth.PodUID
	policy := harmless(t, config(fairfinish.Balanced, 1), false, func(d fairfinish.Decision) {
		if len(d.Grants) == 0 {
			return
		}
		now := first(d)
		if now != before {
			changes++
		}
		before = now
	})
	run(t, 1, tasks, func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
		for i := range jobs {
			wrong := growth.Work(1 - relativeError + 2*relativeError*rng.Float64())
			for _, e := range []*remaining.Estimate{&jobs[i].Remaining, &jobs[i].ToTarget} {
				part := growth.Work(relativeError)
				*e = remaining.Estimate{
					Low:    e.Likely * (1 - part),
					Likely: e.Likely * wrong,
					High:   e.Likely * (1 + part),
					Known:  true,
				}
			}
		}
		return policy(now, jobs)
	})
	return changes
}
