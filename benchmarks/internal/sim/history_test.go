package sim_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/race"
	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
)

// `make sim-history` has the figures.
func TestHistory_OfAnotherNodeHelpsAndAPoisonedOneHarmsNoJob(t *testing.T) {
	if race.Enabled {
		t.Skip("SKIPPED: slow with the race detector; scripts/test also runs it without")
	}
	const seeds = 12
	cells, err := sim.Study(context.Background(), seeds, sim.HistoryMachines(), sim.Shipped(sim.Policies()), quiet)
	require.NoError(t, err)
	require.Len(t, cells, 11)
	by := map[sim.History]sim.Cell{}
	for _, c := range cells {
		by[c.Machine.History] = c
		t.Log(c.Machine.History, c.Completion, c.Good, c.Worst, c.Harmed, c.Latest)
	}
	none, node, cluster := by[sim.NoHistory], by[sim.OfThisNode], by[sim.OfTheCluster]
	require.Less(t, node.Good.Value, none.Good.Value-10, "history helps")
	require.Less(t, cluster.Completion.Value, node.Completion.Value+3)
	require.Less(t, cluster.Good.Value, node.Good.Value+3)
	for _, h := range sim.Poisoned() {
		require.LessOrEqual(t, by[h].Harmed.Value, none.Harmed.Value, h)
		require.LessOrEqual(t, by[h].Latest, none.Latest+10, h)
	}
	for _, g := range sim.HistoryGoals(cells) {
		require.True(t, g.Met == nil || *g.Met, g.Name)
	}
}
