package halt_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/wire"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func process(n int) halt.Process { return halt.Process{Slot: "slot", Connection: int64(n) + 1} }

func rank(n, of int) wire.Process { return wire.Process{Rank: &n, WorldSize: of} }

func TestJob_SingleProcessStopsAfterItsPresentStep(t *testing.T) {
	var j halt.Job
	_, due := j.Next(start, true, 1)
	require.False(t, due, "no process is connected")
	j.Reported(start, process(0), wire.Process{}, 41)
	order, due := j.Next(start, true, 1)
	require.True(t, due)
	require.Equal(t, wire.Stop{Sequence: 1, Stop: true}, order)
	require.False(t, j.Stopped())
	j.Answered(start, process(0), wire.Stopped{Sequence: 1, Step: 42, Stopped: true})
	require.True(t, j.Stopped())
	require.Equal(t, int64(42), j.Step())
	_, due = j.Next(start, true, 1)
	require.False(t, due)
	order, due = j.Next(start, false, 1)
	require.True(t, due)
	require.Equal(t, wire.Stop{Sequence: 2}, order)
	_, due = j.Next(start, false, 1)
	require.False(t, due)
}

func TestJob_RanksStopAfterTheHighestStepAndTwo(t *testing.T) {
	var j halt.Job
	j.Reported(start, process(0), rank(0, 2), 40)
	_, due := j.Next(start, true, 10)
	require.False(t, due, "rank 1 is not connected")
	require.True(t, j.Incomplete())
	j.Reported(start, process(1), rank(1, 2), 41)
	order, _ := j.Next(start, true, 10)
	require.Equal(t, wire.Stop{Sequence: 1, Stop: true, AfterStep: 43}, order)

	t.Log("rank 1 was faster than the order: a later step, with twice the margin")
	j.Answered(start, process(0), wire.Stopped{Sequence: 1, Step: 41})
	j.Answered(start, process(1), wire.Stopped{Sequence: 1, Step: 43})
	order, due = j.Next(start, true, 10)
	require.True(t, due)
	require.Equal(t, wire.Stop{Sequence: 2, Stop: true, AfterStep: 47}, order)
	j.Answered(start, process(0), wire.Stopped{Sequence: 2, Step: 44})
	j.Answered(start, process(1), wire.Stopped{Sequence: 2, Step: 44})
	j.Answered(start, process(1), wire.Stopped{Sequence: 2, Step: 47, Stopped: true})
	require.False(t, j.Stopped())
	j.Reported(start, process(0), rank(0, 2), 47) // before its answer: it has not passed the step
	_, due = j.Next(start, true, 10)
	require.False(t, due)
	j.Answered(start, process(0), wire.Stopped{Sequence: 2, Step: 47, Stopped: true})
	require.True(t, j.Stopped())
}

// Processes under a launcher that sets no variables for their ranks are in lockstep all the same.
func TestJob_ProcessesWithoutRanksStopAfterTheSameStep(t *testing.T) {
	var j halt.Job
	j.Reported(start, process(0), wire.Process{}, 40)
	j.Reported(start, process(1), wire.Process{}, 41)
	require.False(t, j.Incomplete())
	order, due := j.Next(start, true, 10)
	require.True(t, due)
	require.Equal(t, wire.Stop{Sequence: 1, Stop: true, AfterStep: 43}, order)
	j.Answered(start, process(0), wire.Stopped{Sequence: 1, Step: 42})
	j.Answered(start, process(1), wire.Stopped{Sequence: 1, Step: 43, Stopped: true})
	require.False(t, j.Stopped())
	_, due = j.Next(start.Add(time.Hour), true, 0)
	require.True(t, due, "the last one may stop after any step: it cannot be in one that the other has not begun")
	j.Answered(start, process(0), wire.Stopped{Sequence: 2, Step: 43, Stopped: true})
	require.True(t, j.Stopped())
}

// Processes of different programs, such as one that evaluates, need not reach the step of the fastest.
func TestJob_IndependentProcessesDoNotWaitForEachOther(t *testing.T) {
	for name, steps := range map[string][]int64{
		"two":                             {1_000_000, 20},
		"two that begin at the same time": {3, 1},
		"three":                           {1_000_000, 20, 25},
		"a silent one":                    {1_000_000, 20},
	} {
		t.Run(name, func(t *testing.T) {
			var j halt.Job
			now := start
			for n, step := range steps {
				j.Reported(now, process(n), wire.Process{}, step)
			}
			if name == "a silent one" {
				now = now.Add(time.Hour)
				j.Reported(now, process(0), wire.Process{}, steps[0])
			}
			ends := now.Add(2 * time.Minute)
			waits := make([]bool, len(steps))
			var order wire.Stop
			for ; !j.Stopped(); now = now.Add(time.Second) {
				require.True(t, now.Before(ends), "after %v: %+v", steps, order)
				if next, due := j.Next(now, true, 0.01); due {
					order = next
				}
				require.LessOrEqual(t, order.AfterStep, int64(1_000_500))
				for n := range steps { // the first makes a hundred steps in a second, the others one in ten seconds
					made := int64(100)
					if n > 0 {
						made = 1
					}
					waits[n] = waits[n] && steps[n] >= order.AfterStep
					if !waits[n] && (n == 0 || now.Second()%10 == n) {
						steps[n] = min(steps[n]+made, max(steps[n]+1, order.AfterStep))
						waits[n] = steps[n] >= order.AfterStep
					}
					j.Answered(now, process(n), wire.Stopped{Sequence: order.Sequence, Step: steps[n], Stopped: waits[n]})
				}
			}
		})
	}
}

// A DataLoader worker that has fetched a value has a connection of its own, and answers orders. It makes no steps.
func TestJob_AWorkerThatMakesNoStepsIsNotWaitedFor(t *testing.T) {
	for name, who := range map[string]wire.Process{"without a rank": {}, "of a rank": rank(0, 1)} {
		t.Run(name, func(t *testing.T) {
			var j halt.Job
			j.Reported(start, process(0), who, 41)
			order, _ := j.Next(start, true, 1)
			j.Answered(start, process(1), wire.Stopped{Sequence: 1, Process: who})
			require.False(t, j.Stopped())
			j.Answered(start, process(0), wire.Stopped{Sequence: 1, Step: 42, Stopped: true, Process: who})
			require.True(t, j.Stopped())
			require.Zero(t, order.AfterStep)

			t.Log("the next coordinator hears of both, and the job stays where it is")
			var next halt.Job
			next.Answered(start, process(1), wire.Stopped{Process: who})
			require.False(t, next.Stopped())
			next.Answered(start, process(0), wire.Stopped{Step: 42, Stopped: true, Process: who})
			order, _ = next.Next(start, true, 1)
			require.LessOrEqual(t, order.AfterStep, int64(42))
			require.True(t, next.Stopped())
		})
	}
	var j halt.Job
	j.Reported(start, process(0), rank(0, 2), 41)
	j.Answered(start, process(1), wire.Stopped{Process: rank(0, 2)})
	require.Len(t, j.Local(), 1)
	require.Equal(t, int64(41), j.Local()[0].Step)
}

func TestJob_FastStepsAreNamedFurtherAhead(t *testing.T) {
	var j halt.Job
	for n := range 2 {
		j.Reported(start, process(n), rank(n, 2), 1000)
	}
	order, _ := j.Next(start.Add(time.Second), true, 0.01) // 100 steps since the report, 200 until the answers are back
	require.Equal(t, int64(1300), order.AfterStep)
}

func TestJob_FollowsAnEarlierCoordinator(t *testing.T) {
	var j halt.Job
	for n := range 2 {
		j.Answered(start, process(n), wire.Stopped{Step: 50, Stopped: true, Process: rank(n, 2)})
	}
	again := j
	order, due := j.Next(start, true, 1)
	require.True(t, due)
	require.Equal(t, wire.Stop{Sequence: 1, Stop: true, AfterStep: 50}, order, "they wait already, after the same step")
	order, due = again.Next(start, false, 1)
	require.True(t, due)
	require.Equal(t, wire.Stop{Sequence: 1}, order, "the pause has ended meanwhile")
}

func TestJob_StartsAgainWhileItIsStopped(t *testing.T) {
	var j halt.Job
	for n := range 2 {
		j.Reported(start, process(n), rank(n, 2), 400)
	}
	order, _ := j.Next(start, true, 10)
	for n := range 2 {
		j.Answered(start, process(n), wire.Stopped{Sequence: 1, Step: order.AfterStep, Stopped: true})
		j.Left(process(n))
	}
	require.False(t, j.Stopped())
	for n := range 2 {
		j.Reported(start, process(2+n), rank(n, 2), 1)
	}
	order, due := j.Next(start, true, 10)
	require.True(t, due)
	require.Equal(t, wire.Stop{Sequence: 2, Stop: true, AfterStep: 3}, order)
}

// The socket keeps the last order of a slot, so the processes that come receive it unless there is a newer one.
func TestJob_LeavesWhileItIsStopped_AndTheStopEnds(t *testing.T) {
	var j halt.Job
	j.Reported(start, process(0), wire.Process{}, 400)
	order, due := j.Next(start, true, 10)
	require.True(t, due)
	j.Answered(start, process(0), wire.Stopped{Sequence: order.Sequence, Step: 401, Stopped: true})
	j.Left(process(0))
	_, repeated := j.Order()
	require.False(t, repeated, "no process waits")
	order, due = j.Next(start, false, 10)
	require.True(t, due)
	require.Equal(t, wire.Stop{Sequence: 2}, order)
	_, due = j.Next(start, false, 10)
	require.False(t, due, "once")
}

// simulated is a rank as the shim behaves: it answers an order at once, and stops after the step if it has not passed it.
type simulated struct {
	step, after int64
	sequence    int64
	stop        bool
	arrives     int // ticks until the order in flight arrives
	inFlight    *wire.Stop
}

// Ranks run in lockstep (a step begins once all have made the one before) with messages that take random times. They
// always stop after the same step.
func TestJob_AllRanksStopAfterTheSameStep(t *testing.T) {
	unknown := func(int, int) wire.Process { return wire.Process{} }
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { stopInLockstep(t, seed, rank) })
		t.Run(fmt.Sprint(seed, " without ranks"), func(t *testing.T) { stopInLockstep(t, seed, unknown) })
	}
}

func stopInLockstep(t *testing.T, seed uint64, who func(n, of int) wire.Process) {
	random := rand.New(rand.NewPCG(seed, 1))
	ranks := make([]simulated, 2+random.IntN(6))
	size := len(ranks)
	pace := growth.Seconds([]float64{0.01, 0.3, 5}[random.IntN(3)])
	var j halt.Job
	now, paused := start, false
	for tick := 0; tick < 5000 && !paused; tick++ {
		now = now.Add(100 * time.Millisecond)
		for n := range ranks {
			r := &ranks[n]
			if r.inFlight != nil {
				if r.arrives--; r.arrives <= 0 && r.inFlight.Sequence > r.sequence {
					o := *r.inFlight
					waits := r.stop && r.step >= r.after
					r.sequence, r.after = o.Sequence, o.AfterStep
					r.stop = o.Stop && (o.AfterStep == 0 || r.step < o.AfterStep || waits)
					r.inFlight = nil
					j.Answered(now, process(n), wire.Stopped{Sequence: r.sequence, Step: r.step, Stopped: r.stop && r.step >= r.after, Process: who(n, size)})
				}
			}
		}
		for range 1 + int(0.1/float64(pace)) {
			advance(ranks, random)
		}
		for n, r := range ranks {
			if r.stop && r.step >= r.after {
				j.Answered(now, process(n), wire.Stopped{Sequence: r.sequence, Step: r.step, Stopped: true, Process: who(n, size)})
			} else if tick%10 == n {
				j.Reported(now, process(n), who(n, size), r.step)
			}
		}
		if order, due := j.Next(now, tick > 30, pace); due {
			for n := range ranks {
				ranks[n].inFlight, ranks[n].arrives = &order, 1+random.IntN(8)
			}
		}
		paused = j.Stopped()
	}
	require.True(t, paused, "the job stops")
	for _, r := range ranks {
		require.Equal(t, ranks[0].step, r.step)
	}
}

// advance lets each rank make its next step, unless it waits or another rank is a step behind.
func advance(ranks []simulated, random *rand.Rand) {
	least := ranks[0].step
	for _, r := range ranks {
		least = min(least, r.step)
	}
	for n := range ranks {
		r := &ranks[n]
		if stopped := r.stop && r.step >= r.after; !stopped && r.step == least && random.IntN(4) > 0 {
			r.step++
		}
	}
}
