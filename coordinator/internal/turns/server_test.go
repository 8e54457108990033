package turns_test

import (
	"bufio"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/turns"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const patience = 10 * time.Second

// quickly is turn.Default with shorter times.
var quickly = turn.Config{
	Period: 100 * time.Millisecond, Least: 5 * time.Millisecond, Timeout: 300 * time.Millisecond,
	Credit: 100 * time.Millisecond, Debt: time.Second,
}

// unhurried is quickly with another timeout, for processes that answer late on a busy machine.
func unhurried(timeout time.Duration) turn.Config {
	config := quickly
	config.Timeout = timeout
	return config
}

// bench is a server with slots.
type bench struct {
	*turns.Server
	t        *testing.T
	state    string
	registry *prometheus.Registry
}

func serve(t *testing.T, slots ...string) *bench { return serveBy(t, quickly, slots...) }

func serveBy(t *testing.T, config turn.Config, slots ...string) *bench {
	b := &bench{t: t, state: t.TempDir(), registry: prometheus.NewRegistry()}
	private := filepath.Join(b.state, "private")
	require.NoError(t, os.MkdirAll(private, 0o700))
	b.Server = turns.New(b.state, private, config, slog.New(slog.DiscardHandler), turns.NewMetrics(b.registry))
	t.Cleanup(b.Shutdown)
	for _, slot := range slots {
		require.NoError(t, os.MkdirAll(filepath.Join(b.state, gpushare.SlotsDir, slot), 0o755))
		require.NoError(t, b.Open(t.Context(), slot))
	}
	return b
}

// plan divides one GPU by shares. The pod of slot x is x.
func (b *bench) plan(shares map[string]float64) {
	g := node.TurnGroup{GPUs: []growth.GPU{"gpu"}}
	for slot, share := range shares {
		g.Jobs = append(g.Jobs, node.TurnJob{
			Pod: growth.PodUID(slot), GPUs: g.GPUs, Slots: []string{slot}, Share: growth.Share(share),
		})
	}
	slices.SortFunc(g.Jobs, func(a, b node.TurnJob) int { return strings.Compare(string(a.Pod), string(b.Pod)) })
	b.Plan(node.TurnPlan{Groups: []node.TurnGroup{g}})
}

// open lets jobs compute at the same time.
func (b *bench) open(slots ...string) {
	g := node.TurnGroup{GPUs: []growth.GPU{"gpu"}, Open: true}
	for _, slot := range slots {
		g.Jobs = append(g.Jobs, node.TurnJob{Pod: growth.PodUID(slot), GPUs: g.GPUs, Slots: []string{slot}, Share: 1 / growth.Share(len(slots))})
	}
	b.Plan(node.TurnPlan{Groups: []node.TurnGroup{g}})
}

func (b *bench) counter(name string) float64 {
	families, err := b.registry.Gather()
	require.NoError(b.t, err)
	for _, f := range families {
		if f.GetName() == "trellis_coordinator_turn_"+name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	b.t.Fatalf("no metric %s", name)
	return 0
}

// process is a process of a job that obeys, in the place of the shim.
type process struct {
	net.Conn
	t        *testing.T
	lines    chan wire.Turn
	process  wire.Process
	sequence int64
	after    int64
	stopping bool
	trains   bool                   // reports a rate
	claims   func(step int64) int64 // the step that it reports instead of its own; nil for an honest process
	step     atomic.Int64
	pauses   atomic.Int64
}

func (b *bench) dial(slot string, of wire.Process) *process { return b.dialAt(slot, of, 0) }

// dialAt opens the connection of a process that has reached a step.
func (b *bench) dialAt(slot string, of wire.Process, step int64) *process {
	c, err := net.Dial("unix", filepath.Join(b.state, gpushare.SlotsDir, slot, gpushare.TurnSocketName))
	require.NoError(b.t, err)
	p := &process{Conn: c, t: b.t, lines: make(chan wire.Turn, 1000), process: of}
	p.step.Store(step)
	b.t.Cleanup(func() { _ = c.Close() })
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if message, err := wire.DecodeTurn(lines.Bytes()); err == nil {
				p.lines <- message
			}
		}
	}()
	p.send(wire.GateOpen)
	return p
}

func (p *process) send(state wire.GateState) {
	gate := wire.Gate{State: state, Sequence: p.sequence, Step: p.step.Load(), Process: p.process}
	if p.claims != nil {
		gate.Step = p.claims(gate.Step)
	}
	if p.trains {
		gate.Steps, gate.HeldSeconds = 1, .001
	}
	line, err := wire.Encode(gate)
	if err == nil {
		_, _ = p.Write(line)
	}
}

// next returns the next turn, and applies it.
func (p *process) next() wire.Turn {
	select {
	case message, ok := <-p.lines:
		require.True(p.t, ok, "the connection has ended")
		p.take(message)
		return message
	case <-time.After(patience):
		require.FailNow(p.t, "no turn")
		return wire.Turn{}
	}
}

// stopAt ends a step and stops.
func (p *process) stopAt(step int64) {
	p.step.Store(step)
	p.send(wire.GateClosed)
}

// take applies a turn.
func (p *process) take(message wire.Turn) {
	p.sequence = message.Sequence
	switch {
	case message.Hold:
		p.stopping = false
	case message.AfterStep > 0:
		p.stopping, p.after = p.step.Load() < message.AfterStep, message.AfterStep
		p.send(wire.GateOpen)
	default:
		p.stopping, p.after = true, 0
	}
}

// gate is what happens between two steps. It returns false if the connection has ended.
func (p *process) gate() bool {
	for {
		select {
		case message, ok := <-p.lines:
			if !ok {
				return false
			}
			p.take(message)
			continue
		default:
		}
		break
	}
	if !p.stopping || p.step.Load() < p.after {
		return true
	}
	p.pauses.Add(1)
	p.send(wire.GateClosed)
	for message := range p.lines {
		p.take(message)
		if message.Hold {
			return true
		}
	}
	return false
}

// train makes steps until the connection or the test ends.
func (p *process) train(step time.Duration, each func()) {
	p.trains = true
	for p.t.Context().Err() == nil && p.gate() {
		time.Sleep(step)
		each()
		p.step.Add(1)
	}
}

func TestServer_TwoJobsComputeInTurnsByTheirShares(t *testing.T) {
	b := serveBy(t, unhurried(time.Minute), "a", "b")
	b.plan(map[string]float64{"a": .75, "b": .25})
	var inside, together atomic.Int64
	for _, slot := range []string{"a", "b"} {
		p := b.dial(slot, wire.Process{})
		go p.train(0, func() {
			if inside.Add(1) > 1 {
				together.Add(1)
			}
			time.Sleep(time.Millisecond)
			inside.Add(-1)
		})
	}
	b.untilSwitches() // both have stopped and started
	before, at, switches := b.Use(), together.Load(), b.counter("switches_total")
	require.Eventually(t, func() bool { return b.counter("switches_total") > switches+20 }, turnTime, pollTime)
	require.Eventually(t, func() bool {
		after := b.Use()
		a, b := float64(after["a"].Held-before["a"].Held), float64(after["b"].Held-before["b"].Held)
		return math.Abs(a/(a+b)-.75) < .1
	}, patience, pollTime, "a long step of a busy machine is made up for")
	require.Equal(t, at, together.Load(), "no step next to another")
	after := b.Use()
	require.True(t, after["a"].Gated && after["b"].Gated)
	require.Positive(t, after["b"].Waited)
}

// What a step costs alone is measured by the turns in which no other job computes.
func TestServer_CountsTheStepsOfTurnsAlone(t *testing.T) {
	b := serveBy(t, unhurried(time.Minute), "a", "b")
	b.plan(map[string]float64{"a": 1})
	a, other := b.dial("a", wire.Process{}), b.dial("b", wire.Process{})
	a.send(wire.GateClosed)
	a.trains = true
	step := func() {
		a.untilHold()
		time.Sleep(20 * time.Millisecond)
		a.send(wire.GateClosed)
	}
	step()
	require.Eventually(t, func() bool { return b.Use()["a"].Steps == 1 }, patience, pollTime)
	alone := b.Use()["a"].AloneIn
	require.EqualValues(t, 1, b.Use()["a"].AloneSteps)
	require.GreaterOrEqual(t, alone, growth.Seconds(0.02))

	b.open("a", "b")
	other.send(wire.GateClosed)
	other.untilHold()
	step()
	require.Eventually(t, func() bool { return b.Use()["a"].Steps == 2 }, patience, pollTime)
	require.Equal(t, alone, b.Use()["a"].AloneIn, "another job has computed at the same time")
	require.EqualValues(t, 1, b.Use()["a"].AloneSteps)
}

func TestServer_AJobAloneOrOutsideThePlanNeverWaits(t *testing.T) {
	b := serveBy(t, unhurried(time.Minute), "a", "b")
	outside := b.dial("a", wire.Process{})
	outside.send(wire.GateClosed)
	first := <-outside.lines
	require.True(t, first.Hold)
	outside.take(first)
	b.plan(map[string]float64{"a": 1})
	outside.send(wire.GateIdle)
	outside.send(wire.GateClosed)
	require.True(t, (<-outside.lines).Hold, "alone")

	b.plan(map[string]float64{"a": .5, "b": .5})
	other := b.waiting("b")
	b.untilState("b", turn.Ready)
	b.plan(map[string]float64{"a": 1})
	other.untilHold() // its turn is no longer divided
}

func TestServer_NobodyWaitsForAHolderThatIsGone(t *testing.T) {
	for name, end := range map[string]func(p *process){
		"it hangs":                 func(*process) {},
		"it ends":                  func(p *process) { _ = p.Close() },
		"it sends an invalid line": func(p *process) { _, _ = p.Write([]byte("?\n")) },
		"it sends a long line":     func(p *process) { _, _ = p.Write([]byte(strings.Repeat("x", 2*wire.MaxTurnLine))) },
		"it waits for data":        func(p *process) { p.send(wire.GateIdle) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := unhurried(2 * time.Second)
			b := serveBy(t, config, "a", "b")
			b.plan(map[string]float64{"a": .5, "b": .5})
			holder := b.dial("a", wire.Process{})
			next := b.waiting("b")
			began := time.Now()
			end(holder)
			next.untilHold()
			require.Less(t, time.Since(began), config.Period+config.Timeout+time.Second)
			require.Equal(t, name == "it hangs", b.counter("overdue_total") > 0)
		})
	}
}

func TestServer_TheEndOfTheCoordinatorOpensAllGates(t *testing.T) {
	b := serve(t, "a", "b")
	b.plan(map[string]float64{"a": .5, "b": .5})
	first, second := b.dial("a", wire.Process{}), b.dial("b", wire.Process{})
	b.Shutdown()
	for _, p := range []*process{first, second} {
		for range p.lines { // until the end of the file
		}
	}
}

func TestServer_BoundsConnectionsAndRecreatesARemovedSocket(t *testing.T) {
	b := serve(t, "a")
	oldest := b.dial("a", wire.Process{})
	for range 64 {
		b.dial("a", wire.Process{})
	}
	for range oldest.lines { // until the oldest connection is closed
	}
	path := filepath.Join(b.state, gpushare.SlotsDir, "a", gpushare.TurnSocketName)
	require.NoError(t, os.Remove(path))
	require.NoError(t, b.Open(t.Context(), "a"))
	b.dial("a", wire.Process{})
	b.Close("a")
	_, err := os.Lstat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Error(t, b.Open(t.Context(), "../a"))
}
