package turns_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// mostSteps is the largest number of steps that the protocol permits.
const mostSteps = 1 << 53

// barrier is a collective operation: each process waits for all others in each step.
type barrier struct {
	mu      sync.Mutex
	cond    *sync.Cond
	size    int
	arrived int
	round   int
}

func (b *barrier) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	round := b.round
	if b.arrived++; b.arrived == b.size {
		b.arrived, b.round = 0, b.round+1
		b.cond.Broadcast()
	}
	for round == b.round {
		b.cond.Wait()
	}
}

// Processes that wait for each other in each step stop after the same step, many times, next to another job. A process that stopped
// alone would leave the others in the barrier for good.
func TestServer_ProcessesOfAJobStopAfterTheSameStep(t *testing.T) {
	for name, step := range map[string]time.Duration{"short steps": 50 * time.Microsecond, "long steps": 3 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			const size = 3
			b := serve(t, "a", "b")
			b.plan(map[string]float64{"a": .5, "b": .5})
			meet := &barrier{size: size}
			meet.cond = sync.NewCond(&meet.mu)
			var ranks []*process
			for rank := range size {
				p := b.dial("a", wire.Process{Rank: new(rank), WorldSize: size})
				ranks = append(ranks, p)
				go p.train(step, meet.wait)
			}
			single := b.dial("b", wire.Process{})
			go single.train(step, func() {})
			require.Eventually(t, func() bool { return ranks[0].pauses.Load() >= 20 }, 30*time.Second, 5*time.Millisecond, "20 pauses")
			steps := single.step.Load()
			require.Eventually(t, func() bool { return single.step.Load() > steps }, patience, time.Millisecond, "the other job goes on")
			use := b.Use()
			require.Positive(t, use["a"].Held)
			require.Positive(t, use["b"].Held)
			t.Logf("postponed %v, overdue %v", b.counter("postponed_total"), b.counter("overdue_total"))
		})
	}
}

// A process that is stopped (SIGSTOP) while it holds delays the other job by the timeout, and its job continues afterwards.
func TestServer_AProcessThatDoesNotAnswerLeavesNoOtherWaiting(t *testing.T) {
	b := serve(t, "a", "b")
	b.plan(map[string]float64{"a": .5, "b": .5})
	first := b.dial("a", wire.Process{Rank: new(0), WorldSize: 2})
	b.dial("a", wire.Process{Rank: new(1), WorldSize: 2}) // never answers
	go first.train(time.Millisecond, func() {})
	single := b.dial("b", wire.Process{})
	go single.train(time.Millisecond, func() {})
	for range 3 {
		steps, others := first.step.Load(), single.step.Load()
		require.Eventually(t, func() bool { return first.step.Load() > steps+5 && single.step.Load() > others+5 }, patience, time.Millisecond)
	}
	require.Eventually(t, func() bool { return b.counter("overdue_total") >= 2 }, patience, pollTime, "it is asked again")
}

// Two processes of a job never stop, or one of them is a flood of lines. Most of the time, others do not wait for it.
func TestServer_SeveralProcessesThatDoNotStopDoNotBlockTheGPU(t *testing.T) {
	b := serve(t, "bad", "one", "two")
	b.plan(map[string]float64{"bad": .4, "one": .3, "two": .3})
	b.dial("bad", wire.Process{})
	b.dial("bad", wire.Process{})
	for _, slot := range []string{"one", "two"} {
		p := b.dial(slot, wire.Process{})
		go p.train(time.Millisecond, func() {})
	}
	require.Eventually(t, func() bool { return b.counter("overdue_total") > 0 }, patience, pollTime)
	before := b.Use()
	time.Sleep(3 * time.Second)
	after := b.Use()
	held := after["one"].Held - before["one"].Held + after["two"].Held - before["two"].Held
	require.Greater(t, float64(held), 1.5)
	require.Greater(t, b.counter("overdue_total"), 1.0, "it is asked again")
}

// One of two ranks reports false steps, so that the announced step is one that no rank is near to, or one in the past. Another job
// waits for the timeout at most each time. The bound of the test leaves room for a busy machine.
func TestServer_FalseStepsOfARankDelayNoOther(t *testing.T) {
	for name, claims := range map[string]func(int64) int64{
		"ten times too many": func(step int64) int64 { return 10 * step },
		"ten times too few":  func(step int64) int64 { return step / 10 },
		"falling":            func(step int64) int64 { return max(0, 1_000_000-step) },
		"huge":               func(int64) int64 { return mostSteps },
		"alternating":        func(step int64) int64 { return step % 2 * mostSteps },
	} {
		t.Run(name, func(t *testing.T) {
			b := serve(t, "false", "single")
			b.plan(map[string]float64{"false": .5, "single": .5})
			honest := b.dial("false", wire.Process{Rank: new(0), WorldSize: 2})
			liar := b.dial("false", wire.Process{Rank: new(1), WorldSize: 2})
			liar.claims = claims
			single := b.dial("single", wire.Process{})
			var last time.Time
			var longest atomic.Int64
			for _, p := range []*process{honest, liar} {
				go p.train(time.Millisecond, func() {})
			}
			go single.train(time.Millisecond, func() {
				if now := time.Now(); last.IsZero() {
					last = now
				} else {
					longest.Store(max(longest.Load(), int64(now.Sub(last))))
					last = now
				}
			})
			shared := func() bool { return single.step.Load() > 500 && single.pauses.Load() > 0 }
			require.Eventually(t, shared, 6*patience, time.Millisecond)
			require.Less(t, time.Duration(longest.Load()), 10*quickly.Timeout)
		})
	}
}
