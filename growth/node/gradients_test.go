package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// compares lets a process report a step with one comparison of gradients over 8 ranks of 64 samples each.
func (w *harness) compares(connection, step int64, who wire.Process) {
	batch := 64
	w.step(node.ProcessReported{Slot: "slot-a", Connection: connection, Reports: []wire.Progress{{
		Step:      step,
		BatchSize: &batch,
		Batch:     &wire.Batch{Default: 64, Min: 16, Max: 256, LearningRate: "linear"},
		Gradients: &wire.Gradients{Count: 1, Small: 512, SmallSquared: 3, Large: 1024, LargeSquared: 2},
		Process:   who,
	}}})
}

// Ranks average their gradients before they compare them, so all of them report the same comparison.
func TestGradients_OneRankOfAJobIsCounted(t *testing.T) {
	for name, who := range map[string]func(rank int) wire.Process{
		"with ranks":    func(rank int) wire.Process { return wire.Process{Rank: &rank, WorldSize: 8} },
		"without ranks": unnamed,
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.FlowCon, func(t *testing.T, w *harness) {
				w.arrive("a", everything)
				counted := func() int64 {
					w.pass(interval)
					return w.sample("a").Batch.Noise.Comparisons
				}
				for rank := range 8 {
					w.compares(int64(rank+1), 1, who(rank))
				}
				require.Equal(t, int64(1), counted())
				require.False(t, w.sample("a").Batch.Noise.Known())

				t.Log("the lowest rank counts, however late it reports")
				for rank := 7; rank >= 0; rank-- {
					w.compares(int64(rank+1), 2, who(rank))
				}
				require.Equal(t, int64(2), counted())

				t.Log("the next one, once it has left")
				w.step(node.ProcessLeft{Slot: "slot-a", Connection: 1})
				for rank := 7; rank >= 1; rank-- {
					w.compares(int64(rank+1), 3, who(rank))
				}
				require.Equal(t, int64(3), counted())
			})
		})
	}
}

// A program may measure its gradients in one process only, which need not be the first.
func TestGradients_OfTheOnlyRankThatComparesThemAreCounted(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.arrive("a", everything)
		w.step(node.ProcessReported{Slot: "slot-a", Connection: 1, Reports: []wire.Progress{{Step: 1, Process: ofTwo(0)}}})
		w.compares(2, 1, ofTwo(1))
		w.pass(interval)
		require.Equal(t, int64(1), w.sample("a").Batch.Noise.Comparisons)
	})
}
