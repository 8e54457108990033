package sim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/race"
	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth"
)

func philly(t *testing.T, n int) workload.Workload {
	t.Helper()
	jobs, err := workload.Philly(n, workload.Defaults{GPUMemory: "4Gi", CPU: 100, Seed: 1})
	require.NoError(t, err)
	return jobs
}

func TestListed_RunsExactlyTheseJobs(t *testing.T) {
	jobs := philly(t, 30)
	m, err := sim.Listed(jobs, 2, false)
	require.NoError(t, err)
	require.Equal(t, "30 listed jobs on 2 cores", m.String())
	exact, wrong, other := m.Draw(1, 0), m.Draw(1, 0.3), m.Draw(2, 0)
	for i, j := range jobs {
		require.InDelta(t, float64(j.Work()), exact[i].Work, 1e-9)
		require.InDelta(t, j.Arrival.Seconds(), exact[i].Arrival, 1e-9)
		require.Equal(t, exact[i].Need, wrong[i].Need)
		require.Equal(t, exact[i].Work, other[i].Work)
		require.NotEqual(t, exact[i].Need, other[i].Need, "seeds differ in hidden truths")
	}
}

func TestListed_PlacesJobsOnTheLeastLoadedGPUs(t *testing.T) {
	wide := workload.Job{Kind: "ddp", GPUs: 2, Steps: 1000, Batch: 32}
	long, short := workload.Job{Kind: "cnn", Steps: 10_000, Batch: 32}, workload.Job{Kind: "cnn", Steps: 10, Batch: 32}
	huge := workload.Job{Kind: "ddp", GPUs: 64, Steps: 10, Batch: 32}
	m, err := sim.Listed(workload.Workload{long, short, wide, short, huge}, 4, true)
	require.NoError(t, err)
	require.Equal(t, "5 listed jobs on 4 GPUs", m.String())
	var on [][]growth.GPU
	for _, j := range m.Listed {
		on = append(on, j.On)
	}
	require.Equal(t, [][]growth.GPU{{"GPU-0"}, {"GPU-1"}, {"GPU-2", "GPU-3"}, {"GPU-1"}, {"GPU-0", "GPU-1", "GPU-2", "GPU-3"}}, on)
}

func TestListed_RefusesEndlessWorkloads(t *testing.T) {
	_, err := sim.Listed(workload.Workload{{Kind: "cnn", Steps: 1, Batch: 1, Arrival: 1000 * time.Hour}}, 1, false)
	require.ErrorContains(t, err, "use --speedup 19, or a larger --size")
}

func TestStudy_OfAWorkload(t *testing.T) {
	if race.Enabled {
		t.Skip("SKIPPED: slow with the race detector; scripts/test also runs it without")
	}
	for _, gpus := range []bool{false, true} {
		m, err := sim.Listed(philly(t, 40), 1, gpus)
		require.NoError(t, err)
		cells, err := sim.Study(context.Background(), 2, []sim.Machine{m}, sim.Shipped(sim.Policies()), quiet)
		require.NoError(t, err)
		for _, c := range cells {
			require.Less(t, c.Completion.Value, 0.0, "%s %s", c.Machine, c.Policy)
			require.LessOrEqual(t, c.Makespan.Value, 1.01)
		}
		for _, g := range sim.Goals(cells) {
			require.Nil(t, g.Target, "the project has no goals for somebody's jobs")
		}
		var out strings.Builder
		sim.Table(&out, cells, sim.Goals(cells))
		require.Contains(t, out.String(), "change against fair sharing, 40 jobs")
	}
}
