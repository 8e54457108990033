package advise_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

type counts map[string]int

func (c counts) ObserveAllocation(time.Duration) { c["divided"]++ }
func (c counts) CountChange(action string)       { c[action]++ }

// harness is a tuner on a bus, with a coordinator that follows all advice.
type harness struct {
	t           *testing.T
	bus         *membus.Bus
	coordinator *membus.Session
	step        int64
	counts      counts
}

func newHarness(t *testing.T) *harness {
	b := membus.New()
	return &harness{
		t:           t,
		bus:         b,
		coordinator: b.Session(),
		counts:      counts{},
	}
}

// tuner returns the parts of a tuner.
func (w *harness) tuner() (*history.Recorder, *advise.Controller) {
	session, log := w.bus.Session(), slog.New(slog.DiscardHandler)
	recorder := history.NewRecorder(session, log)
	return recorder, &advise.Controller{
		Source:   recorder,
		Writer:   session,
		Metrics:  w.counts,
		Adviser:  &advise.Adviser{Policy: loader.DefaultChangePolicy()},
		Interval: 5 * time.Second,
		Log:      log,
	}
}

// startTuner starts a tuner and returns a function that stops it.
func (w *harness) startTuner() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	recorder, loop := w.tuner()
	go recorder.Run(ctx) // returns when ctx ends
	go loop.Run(ctx)
	synctest.Wait()
	return cancel
}

func put[T any, R bus.Record[T]](w *harness, key string, record T) {
	value, err := bus.Encode[T, R](record)
	require.NoError(w.t, err)
	_, _ = w.coordinator.Put(w.t.Context(), key, value, bus.Ephemeral) // fails while the bus is unavailable
}

// train runs jobs with the given growth. Each uses the advised number of workers, or two.
func (w *harness) train(d time.Duration, jobs map[growth.PodUID]growth.Growth) {
	for range d / time.Second {
		w.step++
		put(w, bus.LoadKey("n1"), bus.NodeLoad{LoaderBudget: 1})
		for uid, g := range jobs {
			loaders := w.loaders(uid)
			batch := 32
			rate := loader.Model{Parallel: .01, Serial: 1e-4, Compute: .005}.Rate(loaders)
			step := growth.Seconds(32 / float64(rate))
			put(w, bus.SampleKey(uid), bus.Sample{
				Node:        "n1",
				Step:        w.step,
				Reported:    true,
				Growth:      g,
				StepSeconds: step,
				LoadSeconds: max(step-32*.005, step/100),
				BatchSize:   &batch,
				Loaders:     &loaders,
				Tunable:     []string{"loaders"},
			})
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
}

func (w *harness) loaders(uid growth.PodUID) int {
	if a, ok := w.advice(uid); ok {
		return *a.Loaders
	}
	return 2
}

func (w *harness) advice(uid growth.PodUID) (bus.Advice, bool) {
	entries, _, err := w.coordinator.List(w.t.Context(), bus.AdviceKey(uid))
	if err != nil || len(entries) == 0 {
		return bus.Advice{}, false
	}
	advice, err := bus.Decode[bus.Advice](entries[0].Value)
	require.NoError(w.t, err)
	return advice, true
}

func TestController_MovesCoreToGrowingJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t)
		defer w.startTuner()()
		w.train(time.Minute, map[growth.PodUID]growth.Growth{"a": .9})
		require.Equal(t, 1, w.loaders("a"))
		w.train(time.Minute, map[growth.PodUID]growth.Growth{"a": .2, "b": .8, "c": .1})
		require.Equal(t, []int{0, 1, 0}, []int{w.loaders("a"), w.loaders("b"), w.loaders("c")})
		w.train(2*time.Minute, map[growth.PodUID]growth.Growth{"a": .2, "b": .1, "c": .7})
		require.Equal(t, []int{0, 0, 1}, []int{w.loaders("a"), w.loaders("b"), w.loaders("c")})
		written := w.counts[advise.Written]
		w.train(5*time.Minute, map[growth.PodUID]growth.Growth{"a": .2, "b": .1, "c": .7})
		require.Equal(t, written, w.counts[advise.Written], "the core does not move back and forth")
		require.Zero(t, w.counts[advise.Conflict])
	})
}

func TestController_SecondTunerTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t)
		stop := w.startTuner()
		w.train(time.Minute, map[growth.PodUID]growth.Growth{"a": .9, "b": .1})
		before, ok := w.advice("b")
		require.True(t, ok)
		stop()
		defer w.startTuner()()
		w.train(2*time.Minute, map[growth.PodUID]growth.Growth{"a": .1, "b": .9})
		after, _ := w.advice("b")
		require.Equal(t, []int{0, 1}, []int{*before.Loaders, *after.Loaders})
		require.Equal(t, before.Generation+1, after.Generation)
	})
}

func TestController_TwoTunersWriteEachChangeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t)
		defer w.startTuner()()
		other := counts{}
		w.counts, other = other, w.counts
		defer w.startTuner()()
		w.train(2*time.Minute, map[growth.PodUID]growth.Growth{"a": .9, "b": .1})
		require.Equal(t, []int{1, 0}, []int{w.loaders("a"), w.loaders("b")})
		a, _ := w.advice("a")
		b, _ := w.advice("b")
		written := w.counts[advise.Written] + other[advise.Written]
		require.EqualValues(t, a.Generation+b.Generation, written, "each change is written once")
		require.LessOrEqual(t, written, 3, "first advice, and one correction by what was measured")
	})
}

// Without jobs that come or go, rounds are five seconds apart.
func TestController_RoundsBeginEarlyWhenJobsComeOrGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t)
		defer w.startTuner()()
		rounds := func(d time.Duration, jobs map[growth.PodUID]growth.Growth) int {
			before := w.counts["divided"]
			w.train(d, jobs)
			return w.counts["divided"] - before
		}
		one := map[growth.PodUID]growth.Growth{"a": .9}
		require.Equal(t, 1, rounds(2*time.Second, one), "a job has come")
		require.Equal(t, 1, rounds(5*time.Second, one))
		require.Equal(t, 1, rounds(2*time.Second, map[growth.PodUID]growth.Growth{"a": .9, "b": .9}), "another one has come")
		require.Equal(t, 2, rounds(10*time.Second, one))
		require.NoError(t, w.coordinator.Delete(t.Context(), bus.SampleKey("b")))
		require.Equal(t, 1, rounds(2*time.Second, one), "it has gone")
		require.Equal(t, 6, rounds(30*time.Second, one))
	})
}

func TestController_ResumesAfterBusOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t)
		defer w.startTuner()()
		w.train(3*time.Second, map[growth.PodUID]growth.Growth{"a": .9})
		w.bus.Fail(bus.ErrUnavailable)
		w.train(time.Minute, map[growth.PodUID]growth.Growth{"a": .9})
		require.Zero(t, w.counts[advise.Failed], "nothing is written based on an outdated state")
		w.bus.Fail(nil)
		w.train(time.Minute, map[growth.PodUID]growth.Growth{"a": .9})
		require.Equal(t, 1, w.loaders("a"))
	})
}

func TestController_WithdrawsAdviceOfEndedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t)
		defer w.startTuner()()
		w.train(time.Minute, map[growth.PodUID]growth.Growth{"a": .9})
		require.NoError(t, w.coordinator.Delete(t.Context(), bus.SampleKey("a")))
		w.train(50*time.Second, nil)
		_, ok := w.advice("a")
		require.True(t, ok)
		w.train(time.Minute, nil)
		_, ok = w.advice("a")
		require.False(t, ok)
		require.Equal(t, 1, w.counts[advise.Withdrawn])
	})
}

// A coordinator restarts just as the leader of earlier leads again.
func TestController_ATermStartsWithoutWhatWasMissingInAnEarlierOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t)
		recorder, loop := w.tuner()
		lead := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			go loop.Run(ctx)
			return func() { cancel(); synctest.Wait() }
		}
		go recorder.Run(t.Context()) // returns when the test ends
		synctest.Wait()
		growing := map[growth.PodUID]growth.Growth{"a": .9}
		stop := lead()
		w.train(time.Minute, growing)
		restart := func() { require.NoError(t, w.coordinator.Delete(t.Context(), bus.SampleKey("a"))) }
		restart()
		w.train(10*time.Second, nil)
		stop()
		w.train(time.Hour, growing)
		restart()
		defer lead()()
		w.train(20*time.Second, nil)
		_, ok := w.advice("a")
		require.True(t, ok)
	})
}

// failsOnce is a writer whose first write fails.
type failsOnce struct {
	advise.Writer
	failed bool
}

func (w *failsOnce) Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error) {
	if !w.failed {
		w.failed = true
		return 0, bus.ErrUnavailable
	}
	return w.Writer.Put(ctx, key, value, life, guards...)
}

func TestController_ReportsAFailedChangeAndMakesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t)
		session := w.bus.Session()
		log := slog.New(slog.DiscardHandler)
		recorder := history.NewRecorder(session, log)
		loop := advise.Controller{
			Source:   recorder,
			Writer:   &failsOnce{Writer: session},
			Metrics:  w.counts,
			Adviser:  &advise.Adviser{Policy: loader.DefaultChangePolicy()},
			Interval: 5 * time.Second,
			Log:      log,
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go recorder.Run(ctx) // returns when ctx ends
		go loop.Run(ctx)
		synctest.Wait()
		w.train(time.Minute, map[growth.PodUID]growth.Growth{"a": .9})
		require.Equal(t, 1, w.counts[advise.Failed])
		require.Equal(t, 1, w.counts[advise.Written])
		require.Equal(t, 1, w.loaders("a"))
	})
}
