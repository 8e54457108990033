package sim_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/race"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
)

// Worked by hand.
func TestFairSharing(t *testing.T) {
	for name, tc := range map[string]struct {
		cores float64
		jobs  []sim.Job
		end   []float64
		good  []float64
	}{
		"alone":                         {1, []sim.Job{{Work: 10, Need: 5, Limit: 1}}, []float64{10}, []float64{5}},
		"two share":                     {1, []sim.Job{{Work: 10, Need: 5, Limit: 1}, {Work: 5, Need: 1, Limit: 1}}, []float64{15, 10}, []float64{10, 2}},
		"a later one":                   {1, []sim.Job{{Work: 10, Need: 1, Limit: 1}, {Arrival: 4, Work: 3, Need: 3, Limit: 1}}, []float64{13, 6}, []float64{1, 6}},
		"a limit leaves the rest":       {4, []sim.Job{{Work: 10, Need: 5, Limit: 1}, {Work: 30, Need: 3, Limit: 4}}, []float64{10, 10}, []float64{5, 1}},
		"idle between, and afterwards":  {2, []sim.Job{{Work: 1, Need: 1, Limit: 1}, {Arrival: 50, Work: 1, Need: 1, Limit: 1}}, []float64{1, 1}, []float64{1, 1}},
		"a job of no need is good soon": {1, []sim.Job{{Work: 1, Need: 0.5, Limit: 1}}, []float64{1}, []float64{0.5}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := sim.Run(tc.jobs, tc.cores, sim.Fair{})
			for i := range got {
				require.InDelta(t, tc.end[i], got[i].End, 1e-6)
				require.InDelta(t, tc.good[i], got[i].Good, 1e-6)
			}
		})
	}
}

func TestDraw(t *testing.T) {
	for _, m := range sim.Machines() {
		exact, wrong := m.Draw(7, 0), m.Draw(7, 0.3)
		require.Len(t, exact, m.Jobs())
		for i := range exact {
			require.InDelta(t, 1, wrong[i].Wrong, 0.3)
			require.Equal(t, 1.0, exact[i].Wrong)
			wrong[i].Wrong = 1
		}
		require.Equal(t, exact, wrong, "the same jobs")
		require.NotEqual(t, exact, m.Draw(8, 0))
	}
}

// The main goals, on as many seeds as a test can have. `make sim` has the figures.
func TestStudy_HarmlessKeepsItsGuarantees(t *testing.T) {
	if race.Enabled {
		t.Skip("SKIPPED: slow with the race detector; scripts/test also runs it without")
	}
	const seeds = 6 // of fewer, one job that learns late is too large a part
	cells, err := sim.Study(context.Background(), seeds, sim.Machines(), sim.Policies(), quiet)
	require.NoError(t, err)
	for _, c := range cells {
		if !strings.HasPrefix(c.Policy, "harmless") {
			continue
		}
		where := c.Machine.String() + ", " + c.Policy
		if c.Errors == 0 {
			require.Zero(t, c.Harmed.Value, where)
			require.Less(t, c.Latest, 10.0, where)
			require.Less(t, c.Makespan.Value, 1.001, where)
		}
		require.Less(t, c.Makespan.Value, 1.02, where)
		completion, good, best := -26.0, -17.0, -42.0
		if c.Machine.Recorded { // learning when a loss reaches its target costs much of the gain
			completion, good, best = -26, -5, -20
		}
		switch c.Policy {
		case sim.Finish:
			require.Less(t, c.Completion.Value, -30.0, where)
		case sim.Balanced:
			require.Less(t, c.Harmed.Value, 5.0, where)
			require.Less(t, c.Completion.Value, completion, where)
			require.Less(t, c.Good.Value, good, where)
		case sim.Growth:
			require.Less(t, c.Good.Value, best, where)
		}
	}
}

// A study depends on its seeds alone, and its report can be read and drawn.
func TestStudy_IsReproducible(t *testing.T) {
	machines, seeds := sim.Machines()[1:3], 3
	if race.Enabled {
		seeds = 2 // its runs are parallel: this test is for the detector too
	}
	once, err := sim.Study(context.Background(), seeds, machines, sim.Policies(), quiet)
	require.NoError(t, err)
	again, err := sim.Study(context.Background(), seeds, machines, sim.Policies(), quiet)
	require.NoError(t, err)
	require.Equal(t, once, again)

	goals := sim.Goals(once)
	require.Len(t, goals, 6*len(once), "each figure, and harm as well")
	_, err = json.Marshal(results.Summary{Goals: goals, Details: once})
	require.NoError(t, err)
	var table strings.Builder
	sim.Table(&table, once, goals)
	require.Contains(t, table.String(), "2 cores, jobs of 1/2, sizes ±30 %")
	require.Contains(t, sim.Plot(once), sim.Balanced)
	require.Equal(t, sim.Plot(once), sim.Plot(again), "the same to the byte")
}

// The next machine's panel is adjacent: a point outside its own would be taken for that machine's.
func TestPlot_ClampsPointsToTheFrame(t *testing.T) {
	drawn := func(completion float64) string {
		return sim.Plot([]sim.Cell{{Machine: sim.Machines()[0], Policy: sim.KnownGrowth, Completion: sim.Mean{Value: completion}}})
	}
	at := func(svg string) string { return strings.SplitN(strings.SplitN(svg, `<circle cx="`, 2)[1], `"`, 2)[0] }
	require.Equal(t, at(drawn(30)), at(drawn(64)))
	require.Equal(t, at(drawn(-70)), at(drawn(-99)))
	require.NotEqual(t, at(drawn(-70)), at(drawn(30)))
}

func TestStudy_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := sim.Study(ctx, 1000, sim.Machines(), sim.Policies(), quiet)
	require.ErrorIs(t, err, context.Canceled)
}

func quiet(sim.Cell, int) {}
