package turns_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// stoppedForSave connects two ranks that have stopped after the same step, and save. The other job has no process.
func stoppedForSave(t *testing.T, step int64) (b *bench, first, second *process) {
	b = serveBy(t, patient, "ranks", "single")
	b.plan(map[string]float64{"ranks": .5, "single": .5})
	first, second = b.dialAt("ranks", rank(0), step), b.dialAt("ranks", rank(1), step)
	first.send(wire.GateIdle)
	second.send(wire.GateIdle)
	b.untilState("ranks", turn.Idle)
	return b, first, second
}

// unfrozen is a kernel that freezes nothing.
type unfrozen struct{}

func (unfrozen) Freeze(growth.PodUID, string) error { return nil }
func (unfrozen) Thaw(growth.PodUID, string) error   { return nil }

// A job that is frozen between its turns may start to use the shim. A process that asks for the turn is not frozen, so it has it.
func TestServer_AFrozenJobNeverWaitsForAnAnswer(t *testing.T) {
	b := serve(t, "a", "b")
	b.FreezeBy(unfrozen{})
	g := node.TurnGroup{GPUs: []growth.GPU{"gpu"}}
	for _, slot := range []string{"a", "b"} {
		g.Jobs = append(g.Jobs, node.TurnJob{Pod: growth.PodUID(slot), GPUs: g.GPUs, Slots: []string{slot}, Share: .5, Freeze: "container"})
	}
	b.Plan(node.TurnPlan{Groups: []node.TurnGroup{g}})
	p := b.dial("a", wire.Process{})
	p.send(wire.GateIdle)
	asked := time.Now()
	p.send(wire.GateClosed)
	require.True(t, p.next().Hold)
	require.Less(t, time.Since(asked), 2*time.Second, "not at the next turn of its container")
}

// asks lets the first rank of a job ask for the turn, and returns once the server has handled that.
func (b *bench) asks(first *process, step int64) {
	b.t.Helper()
	before := b.Use()["ranks"].Steps
	first.trains = true
	first.stopAt(step)
	require.Eventually(b.t, func() bool { return b.Use()["ranks"].Steps > before }, patience, time.Millisecond)
}

// stateOf returns what a job does at present.
func (b *bench) stateOf(job growth.PodUID) turn.State {
	for _, status := range b.Order(job) {
		if status.Job == job {
			return status.State
		}
	}
	return turn.Absent
}

// The stop of a save is lifted while a rank still writes. The other one would compute alone, up to the first collective
// operation.
func TestServer_ARankWaitsForOneThatIsIdle(t *testing.T) {
	b, first, second := stoppedForSave(t, 4)
	b.asks(first, 4)
	require.Equal(t, turn.Idle, b.stateOf("ranks"))
	b.Tick()
	require.Equal(t, wire.Turn{Sequence: 1}, first.next(), "it would take the coordinator for gone")
	second.stopAt(4)
	first.untilHold()
	second.untilHold()
	require.Equal(t, turn.Holding, b.stateOf("ranks"))
}

// No rank waits for one that is idle and never asks for the turn, where the job cannot go on otherwise.
func TestServer_ARankDoesNotWaitForAnIdleOneWithoutEnd(t *testing.T) {
	t.Run("the idle one ends", func(t *testing.T) {
		b, first, second := stoppedForSave(t, 4)
		b.asks(first, 4)
		require.NoError(t, second.Close())
		first.untilHold()
	})
	t.Run("the idle one waits for the steps of the other", func(t *testing.T) {
		b, first, _ := stoppedForSave(t, 4)
		b.asks(first, 3)
		first.untilHold()
	})
	t.Run("the processes are no ranks", func(t *testing.T) {
		b := serveBy(t, patient, "several")
		b.plan(map[string]float64{"several": 1})
		all := b.pair("several")
		all[0].send(wire.GateIdle)
		all[1].send(wire.GateIdle)
		b.untilState("several", turn.Idle)
		all[1].stopAt(1)
		all[1].untilHold()
	})
}

// Ranks do not stop in time, so that others no longer wait for them, while one of them saves. That one computes next to the
// others as soon as it has saved.
func TestServer_AnIdleRankOfAnOverdueJobGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	b := serveBy(t, unhurried(2*time.Second), "ranks", "single")
	b.plan(map[string]float64{"ranks": .5, "single": .5})
	first, second := b.dial("ranks", rank(0)), b.dial("ranks", rank(1))
	second.send(wire.GateIdle)
	b.waiting("single")
	first.untilAsked(0)
	b.untilState("ranks", turn.Overdue)
	second.stopAt(1)
	second.untilHold()
	require.Equal(t, turn.Overdue, b.stateOf("ranks"))
}
