package turns_test

import (
	"bytes"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

var closedLine = []byte(`{"v":1,"type":"gate","state":"closed","sequence":0,"step":1,"steps":0,"held_seconds":0}` + "\n")

var openLine = []byte(`{"v":1,"type":"gate","state":"open","sequence":0,"step":1,"steps":0,"held_seconds":0}` + "\n")

// A job floods its connections and reads nothing. Another job gets all of its turns, and usually at once.
func TestServer_AJobThatDoesNotReadDelaysNoOther(t *testing.T) {
	b := serve(t, "bad", "good")
	flood := bytes.Repeat(closedLine, 400)
	for range 64 {
		silent := b.dialSilent("bad")
		go func() {
			for {
				if _, err := silent.Write(flood); err != nil {
					return
				}
			}
		}()
	}
	good := b.dial("good", wire.Process{})
	const rounds = 50
	began := time.Now()
	for range rounds {
		good.send(wire.GateClosed)
		require.True(t, good.next().Hold)
	}
	require.Less(t, time.Since(began)/rounds, 500*time.Millisecond)
}

// A job repeats that it computes, as fast as it can, and connects again when its connection is closed. It would have the turn
// until the timeout, which is longer than the test.
func TestServer_AFloodOfLinesKeepsNoTurn(t *testing.T) {
	b := serveBy(t, patient, "bad", "good")
	b.plan(map[string]float64{"bad": .5, "good": .5})
	good := b.dial("good", wire.Process{})
	go good.train(time.Millisecond, func() {})
	for range 50 {
		bad := b.dialSilent("bad")
		require.NoError(t, bad.SetDeadline(time.Now().Add(patience)))
		for {
			if _, err := bad.Write(bytes.Repeat(openLine, 100)); err != nil {
				break
			}
		}
		steps := good.step.Load()
		require.Eventually(t, func() bool { return good.step.Load() > steps+2 }, patience, time.Millisecond)
	}
	require.Positive(t, good.pauses.Load())
	require.GreaterOrEqual(t, b.counter("rejected_total"), 50.0)
	require.Zero(t, b.counter("overdue_total"))
}

// Lines that were read before their connection or slot was closed, and lines of connections above the limit, change nothing.
func TestServer_LinesOfClosedConnectionsDoNotCount(t *testing.T) {
	b := serve(t, "one", "two")
	for range 30 {
		b.plan(map[string]float64{"one": .5, "two": .5})
		for range 3 {
			c := b.dialSilent("one")
			go func() { _, _ = c.Write(bytes.Repeat(closedLine, 1000)) }()
		}
		time.Sleep(2 * time.Millisecond)
		b.Close("one")
		require.NoError(t, b.Open(t.Context(), "one"))
	}
}

// The answer to an earlier turn arrives after the next one was sent. The process takes that turn, so it is not released.
func TestServer_AnAnswerThatCrossesATurnDoesNotReleaseIt(t *testing.T) {
	b := serveBy(t, unhurried(time.Minute), "one", "two")
	b.plan(map[string]float64{"one": .5, "two": .5})
	one := b.dial("one", wire.Process{})
	two := b.waiting("two")
	require.False(t, one.next().Hold)
	one.send(wire.GateIdle)
	for !two.next().Hold { // its turns before have no hold
	}
	time.Sleep(100 * time.Millisecond) // two has held for longer than one, which is next
	one.send(wire.GateClosed)
	require.False(t, two.next().Hold)
	two.sequence = 0 // this line was sent before the turn arrived
	two.send(wire.GateClosed)
	time.Sleep(20 * time.Millisecond)
	for len(one.lines) > 0 {
		require.False(t, one.next().Hold, "two still holds")
	}
}

// dialSilent opens a connection that is never read.
func (b *bench) dialSilent(slot string) net.Conn {
	c, err := net.Dial("unix", filepath.Join(b.state, gpushare.SlotsDir, slot, gpushare.TurnSocketName))
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = c.Close() })
	return c
}
