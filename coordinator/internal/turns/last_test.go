package turns_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// reach connects a process that has the turn again, at another step.
func (p *process) reach(step int64) {
	p.step.Store(step)
	p.send(wire.GateIdle)
	p.send(wire.GateClosed)
	p.untilHold()
}

// untilStop returns once a process has to stop after its next step.
func (p *process) untilStop() {
	for m := p.next(); m.Hold || m.AfterStep != 0; m = p.next() {
	}
}

// One of two processes ends during a stop, and the other would not stop after the announced step. It is asked to stop after its
// next step.
func TestServer_TheLastOfSeveralProcessesStopsAlone(t *testing.T) {
	for name, test := range map[string]struct{ gone, reached int64 }{
		"it has gone past the announced step":             {reached: 100},
		"the step is one that only the other was near to": {gone: 1_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			b := serveBy(t, patient, "several", "single")
			b.plan(map[string]float64{"several": .5, "single": .5})
			all := b.pair("several")
			last, gone := all[0], all[1]
			gone.reach(test.gone)
			single := b.waiting("single")
			gone.untilAsked(0)
			require.NoError(t, gone.Close())
			last.step.Store(test.reached) // its answer and the end of the other connection may cross
			last.untilStop()
			last.stopAt(test.reached + 1)
			single.untilHold()
		})
	}
}

// A process of three ends during a stop that was announced for its step. The others are asked to stop after one of theirs.
func TestServer_TheRestOfSeveralProcessesStopsEarlier(t *testing.T) {
	b := serveBy(t, patient, "several", "single")
	b.plan(map[string]float64{"several": .5, "single": .5})
	rest, gone := b.pair("several"), b.dial("several", wire.Process{})
	gone.reach(1_000_000)
	single := b.waiting("single")
	for _, p := range rest {
		require.Greater(t, p.untilAsked(0), int64(1_000_000))
	}
	require.NoError(t, gone.Close())
	for _, p := range rest {
		agreed := p.next().AfterStep
		require.Less(t, agreed, int64(100))
		p.stopAt(agreed)
	}
	single.untilHold()
}

// Two processes have little time to stop, because their job has computed in the turns of another one many times. They do not stop in
// time and are let go on, and one of them ends. The other is asked at once, not after the time in which others do not wait for
// several processes.
func TestServer_TheLastOfSeveralOverdueProcessesIsAskedAtOnce(t *testing.T) {
	config := patient
	config.Period = time.Hour // the turn of the other job does not end
	b := serveBy(t, config, "several", "single")
	b.plan(map[string]float64{"several": .5, "single": .5})
	b.dial("single", wire.Process{})
	b.untilState("single", turn.Holding)
	last := b.dial("several", wire.Process{})
	for range 9 {
		last.untilStop()
		last.stopAt(1)
		last.send(wire.GateOpen)
	}
	last.untilStop()
	last.stopAt(1)
	b.untilState("several", turn.Ready)
	before := b.counter("overdue_total")
	gone := b.dial("several", wire.Process{})
	require.Eventually(t, func() bool { return b.counter("overdue_total") > before }, patience, pollTime)
	require.NoError(t, gone.Close())
	last.untilHold()
	last.untilStop()
	last.stopAt(2)
	b.untilState("several", turn.Ready)
}
