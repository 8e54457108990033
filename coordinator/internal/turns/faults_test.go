package turns_test

import (
	"bytes"
	"log/slog"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/turns"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// shimPair starts two jobs with the shim that take turns.
func shimPair(t *testing.T, config turn.Config) (b *bench, one, other *trainer) {
	t.Parallel()
	b = serveBy(t, config, "one", "other")
	b.plan(map[string]float64{"one": .5, "other": .5})
	one, other = b.launch("one"), b.launch("other")
	b.started(one, other)
	b.untilSwitches()
	return b, one, other
}

func TestFaults_TheHolderIsKilled(t *testing.T) {
	b, one, other := shimPair(t, patient)
	b.untilState("other", turn.Holding)
	other.signal(syscall.SIGKILL)
	one.goesOn()
	one.end()
}

func TestFaults_TheHolderHangs(t *testing.T) {
	b, one, other := shimPair(t, quickly)
	b.untilState("other", turn.Holding)
	other.signal(syscall.SIGSTOP)
	require.Eventually(t, func() bool { return b.counter("overdue_total") > 0 }, patience, pollTime)
	one.goesOn()
	other.signal(syscall.SIGCONT)
	other.goesOn()
	b.untilSwitches()
	one.end()
	other.end()
}

// The GPU of a job is lost while the job holds it, and the shim cannot wait for its kernels: the driver returns an error, or the call
// hangs. The other job waits for the timeout at most.
func TestFaults_AGPUIsLostWhileHeld(t *testing.T) {
	lose := func(t *testing.T, config turn.Config, drain string) (b *bench, one, other *trainer) {
		t.Parallel()
		b = serveBy(t, config, "one", "other")
		b.plan(map[string]float64{"one": .5, "other": .5})
		one, other = b.launch("one"), b.launchRank("other", nil, "LOST="+drain)
		b.started(one, other)
		b.untilSwitches()
		b.untilState("other", turn.Holding)
		other.signal(syscall.SIGWINCH)
		return b, one, other
	}
	t.Run("the driver returns an error", func(t *testing.T) {
		b, one, other := lose(t, patient, "raises")
		before := b.Use()["one"]
		b.untilSwitches()
		after := b.Use()["one"]
		require.Zero(t, b.counter("overdue_total"))
		require.InDelta(t, float64(after.Held-before.Held), float64(after.Alone-before.Alone), 1e-6, "no turn is given twice")
		one.end()
		other.end()
	})
	t.Run("the driver hangs", func(t *testing.T) {
		b, one, other := lose(t, quickly, "hangs")
		require.Eventually(t, func() bool { return b.counter("overdue_total") > 0 }, patience, pollTime)
		one.goesOn()
		other.signal(syscall.SIGKILL)
		one.goesOn()
		one.end()
	})
}

func TestFaults_AnotherCoordinatorServesTheSameSockets(t *testing.T) {
	b, one, other := shimPair(t, patient)
	b.Shutdown()
	one.goesOn()
	other.goesOn()

	b.registry = prometheus.NewRegistry()
	b.Server = turns.New(b.state, filepath.Join(b.state, "private"), patient, slog.New(slog.DiscardHandler), turns.NewMetrics(b.registry))
	t.Cleanup(b.Shutdown)
	b.plan(map[string]float64{"one": .5, "other": .5})
	for _, slot := range []string{"one", "other"} {
		require.NoError(t, b.Open(t.Context(), slot))
	}
	b.untilSwitches()
	one.goesOn()
	other.goesOn()
	one.end()
	other.end()
}

// A process of a job floods its socket, next to one that trains.
func TestFaults_AFloodNextToAProcessThatTrains(t *testing.T) {
	b, one, other := shimPair(t, patient)
	go func() {
		for t.Context().Err() == nil {
			if c, err := net.Dial("unix", filepath.Join(b.state, gpushare.SlotsDir, "other", gpushare.TurnSocketName)); err == nil {
				for err == nil {
					_, err = c.Write(bytes.Repeat(openLine, 100))
				}
				_ = c.Close()
			}
		}
	}()
	require.Eventually(t, func() bool { return b.counter("rejected_total") > 10 }, patience, pollTime)
	for range 3 {
		one.goesOn()
		other.goesOn()
	}
	b.untilSwitches()
	one.end()
	other.end()
}

// shimRanks starts a job with two ranks that takes turns with a single process.
func shimRanks(t *testing.T) (b *bench, first, second, single *trainer) {
	t.Parallel()
	b = serveBy(t, patient, "rank-0", "rank-1", "single")
	gpus := []growth.GPU{"gpu"}
	b.Plan(node.TurnPlan{Groups: []node.TurnGroup{{GPUs: gpus, Jobs: []node.TurnJob{
		{Pod: "ranks", GPUs: gpus, Slots: []string{"rank-0", "rank-1"}, Share: .5},
		{Pod: "single", GPUs: gpus, Slots: []string{"single"}, Share: .5},
	}}}})
	first, second = b.launchRanks("rank-0", "rank-1")
	single = b.launch("single")
	b.started(first, second, single)
	b.untilSwitches()
	return b, first, second, single
}

// A rank is killed after the stop was announced. The other rank ends with it, and the other job has the GPU.
func TestFaults_ARankIsKilledDuringAStop(t *testing.T) {
	b, first, second, single := shimRanks(t)
	second.signal(syscall.SIGSTOP)
	b.untilState("ranks", turn.Stopping)
	second.signal(syscall.SIGKILL)
	single.goesOn()
	first.ended()
	single.end()
}

// The connection of a rank ends, again and again, and the rank connects again.
func TestFaults_ARankReconnects(t *testing.T) {
	b, first, second, single := shimRanks(t)
	for range 3 {
		b.Close("rank-1")
		require.NoError(t, b.Open(t.Context(), "rank-1"))
		for _, p := range []*trainer{first, second, single} {
			p.goesOn()
		}
		b.untilSwitches()
	}
	require.Zero(t, b.counter("overdue_total"))
	second.signal(syscall.SIGTERM)
	first.ended()
	second.ended()
	single.end()
}
