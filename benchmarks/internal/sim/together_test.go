package sim_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/race"
	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
)

// Worked by hand: plain sharing of a GPU on which jobs that compute at the same time are faster than one after the other.
func TestFairSharing_OfJobsThatComputeTogether(t *testing.T) {
	job := func(work, limit float64, speeds sim.Speeds, class int, gpu growth.GPU) sim.Job {
		return sim.Job{Work: work, Need: work, Limit: limit, On: []growth.GPU{gpu}, Speeds: speeds, Class: class}
	}
	two := sim.Speeds{{0.9, 0.6}, {0.8, 0.5}}
	for name, tc := range map[string]struct {
		jobs []sim.Job
		end  []float64
	}{
		"two jobs at 0.8":                  {[]sim.Job{job(8, 1, sim.Alike(0.8), 0, "a"), job(10, 1, sim.Alike(0.8), 0, "a")}, []float64{10, 12}},
		"at 0.5 as in turns":               {[]sim.Job{job(10, 1, sim.Alike(0.5), 0, "a"), job(5, 1, sim.Alike(0.5), 0, "a")}, []float64{15, 10}},
		"at 1 as alone":                    {[]sim.Job{job(10, 1, sim.Alike(1), 0, "a"), job(5, 1, sim.Alike(1), 0, "a")}, []float64{10, 5}},
		"three jobs at 0.5 as in turns":    {[]sim.Job{job(5, 1, sim.Alike(0.5), 0, "a"), job(5, 1, sim.Alike(0.5), 0, "a"), job(5, 1, sim.Alike(0.5), 0, "a")}, []float64{15, 15, 15}},
		"two classes":                      {[]sim.Job{job(6, 1, two, 0, "a"), job(8, 1, two, 1, "a")}, []float64{10, 10}},
		"on different GPUs":                {[]sim.Job{job(6, 1, two, 0, "a"), job(8, 1, two, 1, "b")}, []float64{6, 8}},
		"a job that waits for data enough": {[]sim.Job{job(2, 0.2, sim.Alike(0.8), 0, "a"), job(8, 1, sim.Alike(0.8), 0, "a")}, []float64{10, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := sim.Run(tc.jobs, 1, sim.Fair{})
			for i := range got {
				require.InDelta(t, tc.end[i], got[i].End, 1e-4)
			}
		})
	}
}

// The node measures the speeds of jobs that compute at the same time, and uses them where they pay: all jobs together are done
// sooner than in turns. Where they do not pay, nothing changes but the time of bounded trials.
func TestRun_SetsAreFoundWhereTheyPay(t *testing.T) {
	machine := sim.Machine{Cores: 4, GPUs: 1, Widths: []int{1}}
	makespans := func(speeds sim.Speeds) (shared, divided float64) {
		m := machine
		m.Speeds = speeds
		jobs := m.Draw(1, 0)
		for _, p := range sim.Policies() {
			if p.Name == sim.Balanced {
				_, shared = sim.Run(jobs, m.Cores, sim.Fair{})
				_, divided = sim.Run(jobs, m.Cores, p.New(m.Cores, 0))
			}
		}
		return shared, divided
	}
	shared, turns := makespans(sim.Alike(0.5))
	require.InDelta(t, 1, turns/shared, 0.03, "sets are rejected")
	shared, sets := makespans(sim.Alike(0.9))
	require.Less(t, sets, 0.8*turns, "sets are found")
	t.Logf("makespan: in turns %.0f s, in sets %.0f s, plain sharing with gaps %.0f s", turns, sets, shared)
}

// While the speeds of two jobs alone are measured they have equal parts. What one of them lost by the policy's shares meanwhile, it
// would never catch up: the GPU does less once one of them has ended.
func TestRun_NoJobFallsBehindBeforeSpeedsAreKnown(t *testing.T) {
	m := sim.Machine{Cores: 4, GPUs: 1, Widths: []int{1}}
	job := func(arrival, work, need float64) sim.Job {
		return sim.Job{Arrival: arrival, Work: work, Need: need, Limit: 1, On: []growth.GPU{"a"}, Speeds: sim.Alike(0.8), Wrong: 1}
	}
	jobs := []sim.Job{job(0, 65, 30), job(20, 200, 20)}
	shared, _ := sim.Run(jobs, m.Cores, sim.Fair{})
	for _, p := range sim.Shipped(sim.Policies()) {
		divided, _ := sim.Run(jobs, m.Cores, p.New(m.Cores, 0))
		for i := range jobs {
			require.LessOrEqual(t, divided[i].End, 1.03*shared[i].End, "job %d", i)
		}
	}
}

// Turns of jobs that do more at the same time would double their times. The node measures that before they take turns.
func TestStudy_JobsWithGapsLoseNothingByTurns(t *testing.T) {
	if race.Enabled {
		t.Skip("SKIPPED: slow with the race detector; scripts/test also runs it without")
	}
	cells, err := sim.Study(context.Background(), 4, sim.GPUMachines()[4:], sim.Shipped(sim.Policies()), quiet)
	require.NoError(t, err)
	require.Len(t, cells, 8)
	for _, c := range cells {
		require.Less(t, c.Completion.Value, 3.0, "%s: %s", c.Where(), c.Completion)
		require.Less(t, c.Makespan.Value, 1.05, c.Where())
	}
}
