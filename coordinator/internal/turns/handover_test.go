package turns_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// gaps returns the number and the sum of the gaps between two jobs.
func (b *bench) gaps() (count uint64, sum float64) {
	families, err := b.registry.Gather()
	require.NoError(b.t, err)
	for _, f := range families {
		if f.GetName() == "trellis_coordinator_turn_gap_seconds" {
			h := f.GetMetric()[0].GetHistogram()
			return h.GetSampleCount(), h.GetSampleSum()
		}
	}
	return 0, 0
}

// A GPU that no job wants for a while has no gap in that time.
func TestServer_AGapBeginsWhenAJobIsReady(t *testing.T) {
	b := serve(t, "a", "b")
	b.plan(map[string]float64{"a": .5, "b": .5})
	a := b.dial("a", wire.Process{})
	require.Eventually(t, func() bool { return b.Use()["a"].Gated }, patience, time.Millisecond)
	a.send(wire.GateIdle)
	other := b.dial("b", wire.Process{})
	require.Eventually(t, func() bool { return b.Use()["b"].Gated }, patience, time.Millisecond)
	other.send(wire.GateIdle)
	time.Sleep(600 * time.Millisecond)

	a.send(wire.GateClosed)
	for turn := range a.lines {
		if turn.Hold {
			break
		}
	}
	count, sum := b.gaps()
	require.Equal(t, uint64(1), count)
	require.Less(t, sum, .5)
	order := b.Order("b")
	require.Len(t, order, 2)
	require.Equal(t, []growth.PodUID{"a", "b"}, []growth.PodUID{order[0].Job, order[1].Job}, "a holds, b is idle")
	require.Empty(t, b.Order("unknown"))
}
