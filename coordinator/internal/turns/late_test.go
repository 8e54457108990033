package turns_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// patient does not give up on a process that answers late because the machine is busy.
var patient = turn.Config{Period: 10 * time.Millisecond, Least: time.Millisecond, Timeout: time.Minute, Debt: time.Second}

// rank names one of two processes.
func rank(number int) wire.Process { return wire.Process{Rank: &number, WorldSize: 2} }

// pair connects two processes that do not name their ranks.
func (b *bench) pair(slot string) []*process {
	pair := []*process{b.dial(slot, wire.Process{}), b.dial(slot, wire.Process{})}
	for _, p := range pair { // the lines of both have been read once they are answered
		p.send(wire.GateIdle)
		p.send(wire.GateClosed)
		p.untilHold()
	}
	return pair
}

// waiting connects a job that waits for the turn, once another job has it.
func (b *bench) waiting(slot string) *process {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		return slices.ContainsFunc(b.Order(growth.PodUID(slot)), func(s turn.Status) bool { return s.State == turn.Holding })
	}, patience, time.Millisecond)
	p := b.dial(slot, wire.Process{})
	p.stopAt(1)
	return p
}

// untilHold returns once a process has the turn.
func (p *process) untilHold() {
	for !p.next().Hold {
	}
}

// untilAsked returns the step after which a process should stop, if that is another one than before.
func (p *process) untilAsked(before int64) int64 {
	for {
		if after := p.next().AfterStep; after > before {
			return after
		}
	}
}

// A process that connects during a stop is asked to stop after the announced step. If it has already gone past that step, all
// of them continue, and a later one is announced.
func TestServer_AProcessThatConnectsDuringAStopStopsWithTheOthers(t *testing.T) {
	for name, ahead := range map[string]int64{"before the announced step": -1, "after it": 5} {
		t.Run(name, func(t *testing.T) {
			b := serveBy(t, patient, "several", "single")
			b.plan(map[string]float64{"several": .5, "single": .5})
			all := b.pair("several")
			single := b.waiting("single")
			announced := all[0].untilAsked(0)
			require.Equal(t, announced, all[1].untilAsked(0))

			late := b.dialAt("several", wire.Process{}, announced+ahead)
			agreed := late.untilAsked(0)
			require.Equal(t, announced, agreed)
			if ahead >= 0 {
				agreed = late.untilAsked(announced)
				require.Greater(t, agreed, late.step.Load())
				for _, p := range all {
					require.Equal(t, agreed, p.untilAsked(announced))
				}
			}
			for _, p := range append(all, late) {
				p.stopAt(agreed)
			}
			single.untilHold()
		})
	}
}

// A process connects that the others have left behind. They continue with it, and all of them stop together.
func TestServer_AProcessThatConnectsAfterAStopDoesNotComputeAlone(t *testing.T) {
	b := serveBy(t, patient, "several", "single")
	b.plan(map[string]float64{"several": .5, "single": .5})
	all := b.pair("several")
	single := b.waiting("single")
	stopped := all[0].untilAsked(0)
	require.Equal(t, stopped, all[1].untilAsked(0))
	all[0].stopAt(stopped)
	all[1].stopAt(stopped)
	single.untilHold()

	late := b.dialAt("several", wire.Process{}, stopped)
	agreed := late.untilAsked(0)
	require.Greater(t, agreed, stopped)
	for _, p := range all {
		p.untilHold()
		require.Equal(t, agreed, p.untilAsked(stopped))
	}
}

// A job that was believed to have one process is asked to stop, and a second one connects.
func TestServer_ASecondProcessConnectsDuringAStop(t *testing.T) {
	for name, stopped := range map[string]bool{"before the first has stopped": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := patient
			config.Period = 2 * time.Second // the single process still has the turn when the second one connects
			b := serveBy(t, config, "several", "single")
			b.plan(map[string]float64{"several": .5, "single": .5})
			first := b.dial("several", wire.Process{})
			single := b.waiting("single")
			require.Equal(t, wire.Turn{Sequence: 1}, first.next())
			if stopped {
				first.stopAt(1)
				single.untilHold()
			}
			second := b.dialAt("several", wire.Process{}, 1)
			agreed := second.untilAsked(0)
			require.Equal(t, agreed, first.untilAsked(0))
			first.stopAt(agreed)
			second.stopAt(agreed)
			if !stopped {
				single.untilHold()
			}
		})
	}
}

// A process that is not connected cannot be stopped, so the others are not stopped without it.
func TestServer_RanksAreNotStoppedUntilAllAreConnected(t *testing.T) {
	b := serveBy(t, patient, "ranks", "single")
	b.plan(map[string]float64{"ranks": .5, "single": .5})
	first := b.dial("ranks", rank(0))
	single := b.dial("single", wire.Process{})
	single.stopAt(1)
	single.untilHold() // next to the rank
	first.stopAt(4)
	require.True(t, first.next().Hold)
	require.False(t, b.Use()["ranks"].Gated)

	second := b.dialAt("ranks", rank(1), 4)
	agreed := second.untilAsked(0)
	require.Equal(t, agreed, first.untilAsked(0))
}

// The connection of a rank ends while the ranks stop. The others continue, and no other job waits for it.
func TestServer_AStopEndsWithTheConnectionOfARank(t *testing.T) {
	for name, stopped := range map[string]bool{"before the others have stopped": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			b := serveBy(t, patient, "ranks", "single")
			b.plan(map[string]float64{"ranks": .5, "single": .5})
			first, second := b.dial("ranks", rank(0)), b.dial("ranks", rank(1))
			single := b.waiting("single")
			agreed := first.untilAsked(0)
			if stopped {
				first.stopAt(agreed)
			}
			require.NoError(t, second.Close())
			first.untilHold()
			single.untilHold()
		})
	}
}
