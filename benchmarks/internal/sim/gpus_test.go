package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/race"
	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
)

// Worked by hand: plain sharing of GPUs.
func TestFairSharing_OfGPUs(t *testing.T) {
	on := func(work, limit float64, gpus ...growth.GPU) sim.Job {
		return sim.Job{Work: work, Need: work, Limit: limit, On: gpus}
	}
	for name, tc := range map[string]struct {
		jobs []sim.Job
		end  []float64
	}{
		"two jobs share a GPU":                      {[]sim.Job{on(10, 1, "a"), on(5, 1, "a")}, []float64{15, 10}},
		"jobs on different GPUs do not":             {[]sim.Job{on(10, 1, "a"), on(5, 1, "b")}, []float64{10, 5}},
		"a job on two GPUs is as slow as on one":    {[]sim.Job{on(20, 2, "a", "b"), on(10, 1, "a")}, []float64{20, 20}},
		"what it leaves idle goes to others":        {[]sim.Job{on(20, 2, "a", "b"), on(10, 1, "a"), on(10, 1, "a"), on(20, 1, "b")}, []float64{30, 30, 30, 30}},
		"a job that waits for data leaves the rest": {[]sim.Job{on(10, 0.25, "a"), on(30, 1, "a")}, []float64{40, 40}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := sim.Run(tc.jobs, 1, sim.Fair{})
			for i := range got {
				require.InDelta(t, tc.end[i], got[i].End, 1e-4)
			}
		})
	}
}

// The same goals as on cores: growth comes first, and with exact sizes no job ends more than 5 % later. Where jobs on one, two
// and four GPUs overlap, few may: turns of jobs on other GPUs then leave some idle that the plan has counted on. `make sim
// ARGS="--gpus"` has the figures.
func TestStudy_HarmlessKeepsItsGuaranteesOnGPUs(t *testing.T) {
	if race.Enabled {
		t.Skip("SKIPPED: slow with the race detector; scripts/test also runs it without")
	}
	harmless := slices.DeleteFunc(sim.Policies(), func(p sim.Named) bool { return !strings.HasPrefix(p.Name, "harmless") })
	machines := sim.GPUMachines()
	cells, err := sim.Study(context.Background(), 3, machines[:2], harmless, quiet)
	require.NoError(t, err)
	large, err := sim.Study(context.Background(), 2, machines[3:4], sim.Shipped(sim.Policies()), quiet)
	require.NoError(t, err)
	cells = append(cells, large...)
	for _, c := range cells {
		where := c.Machine.String() + ", " + c.Policy
		t.Logf("%s ±%g: completion %s, target %s, harmed %.2f %%, worst %+.1f %%, makespan %.3f",
			where, c.Errors, c.Completion, c.Good, c.Harmed.Value, c.Worst.Value, c.Makespan.Value)
		switch {
		case c.Errors == 0 && len(c.Machine.Widths) < 4:
			require.Zero(t, c.Harmed.Value, where)
		case c.Errors == 0:
			require.Less(t, c.Harmed.Value, 2.0, where)
		case c.Policy == sim.Balanced: // as on cores, wrong sizes have no bound
			require.Less(t, c.Harmed.Value, 5.0, where)
		}
		require.Less(t, c.Makespan.Value, 1.04, where)
		if c.Policy == sim.Balanced {
			require.Less(t, c.Completion.Value, -20.0, where)
			require.Less(t, c.Good.Value, -15.0, where)
		}
	}
}
