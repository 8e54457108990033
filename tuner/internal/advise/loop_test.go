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

func (c counts) Divided(time.Duration) { c["divided"]++ }
func (c counts) Changed(action string) { c[action]++ }

// world is a bus with a coordinator on it that does what it is advised to, and a tuner.
type world struct {
	t       *testing.T
	bus     *membus.Bus
	agent   *membus.Session
	step    int64
	counted counts
}

func newWorld(t *testing.T) *world {
	b := membus.New()
	return &world{
		t:       t,
		bus:     b,
		agent:   b.Session(),
		counted: counts{},
	}
}

// tune runs a tuner until what it returns is called.
func (w *world) tune() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	session := w.bus.Session()
	log := slog.New(slog.DiscardHandler)
	recorder := history.NewRecorder(session, log)
	loop := advise.Loop{
		Source:  recorder,
		Writer:  session,
		Meter:   w.counted,
		Adviser: &advise.Adviser{Patience: loader.DefaultChangePolicy()},
		Every:   5 * time.Second,
		Log:     log,
	}
	go recorder.Run(ctx) // it ends with ctx
	go loop.Run(ctx)
	synctest.Wait()
	return cancel
}

func put[T any, R bus.Record[T]](w *world, key string, record T) {
	value, err := bus.Encode[T, R](record)
	require.NoError(w.t, err)
	_, _ = w.agent.Put(w.t.Context(), key, value, bus.Ephemeral) // refused while the bus is away
}

// live lets jobs of the given growth train for a while, each with the loaders it was advised, two by default.
func (w *world) live(d time.Duration, jobs map[growth.PodUID]growth.Growth) {
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

func (w *world) loaders(uid growth.PodUID) int {
	if a, ok := w.advice(uid); ok {
		return *a.Loaders
	}
	return 2
}

func (w *world) advice(uid growth.PodUID) (bus.Advice, bool) {
	entries, _, err := w.agent.List(w.t.Context(), bus.AdviceKey(uid))
	if err != nil || len(entries) == 0 {
		return bus.Advice{}, false
	}
	advice, err := bus.Decode[bus.Advice](entries[0].Value)
	require.NoError(w.t, err)
	return advice, true
}

func TestOneCoreWandersToTheJobThatGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.tune()()
		w.live(time.Minute, map[growth.PodUID]growth.Growth{"a": .9})
		require.Equal(t, 1, w.loaders("a"))
		w.live(time.Minute, map[growth.PodUID]growth.Growth{"a": .2, "b": .8, "c": .1})
		require.Equal(t, []int{0, 1, 0}, []int{w.loaders("a"), w.loaders("b"), w.loaders("c")})
		w.live(2*time.Minute, map[growth.PodUID]growth.Growth{"a": .2, "b": .1, "c": .7})
		require.Equal(t, []int{0, 0, 1}, []int{w.loaders("a"), w.loaders("b"), w.loaders("c")})
		written := w.counted[advise.Written]
		w.live(5*time.Minute, map[growth.PodUID]growth.Growth{"a": .2, "b": .1, "c": .7})
		require.Equal(t, written, w.counted[advise.Written], "nothing flaps")
		require.Zero(t, w.counted[advise.Conflict])
	})
}

func TestAnotherTunerTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stop := w.tune()
		w.live(time.Minute, map[growth.PodUID]growth.Growth{"a": .9, "b": .1})
		before, ok := w.advice("b")
		require.True(t, ok)
		stop()
		defer w.tune()()
		w.live(2*time.Minute, map[growth.PodUID]growth.Growth{"a": .1, "b": .9})
		after, _ := w.advice("b")
		require.Equal(t, []int{0, 1}, []int{*before.Loaders, *after.Loaders})
		require.Equal(t, before.Generation+1, after.Generation)
	})
}

func TestTwoTunersAtOnceDoNoHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.tune()()
		other := counts{}
		w.counted, other = other, w.counted
		defer w.tune()()
		w.live(2*time.Minute, map[growth.PodUID]growth.Growth{"a": .9, "b": .1})
		require.Equal(t, []int{1, 0}, []int{w.loaders("a"), w.loaders("b")})
		require.Equal(t, 2, w.counted[advise.Written]+other[advise.Written], "each piece of advice is written once")
		a, _ := w.advice("a")
		require.Equal(t, int64(1), a.Generation)
	})
}

func TestABusThatWasAwayIsAdvisedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.tune()()
		w.live(3*time.Second, map[growth.PodUID]growth.Growth{"a": .9})
		w.bus.Fail(bus.ErrUnavailable)
		w.live(time.Minute, map[growth.PodUID]growth.Growth{"a": .9})
		require.Zero(t, w.counted[advise.Failed], "on an old state nothing is even tried")
		w.bus.Fail(nil)
		w.live(time.Minute, map[growth.PodUID]growth.Growth{"a": .9})
		require.Equal(t, 1, w.loaders("a"))
	})
}

func TestTheAdviceOfAJobThatEndedIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.tune()()
		w.live(time.Minute, map[growth.PodUID]growth.Growth{"a": .9})
		require.NoError(t, w.agent.Delete(t.Context(), bus.SampleKey("a")))
		w.live(50*time.Second, nil)
		_, ok := w.advice("a")
		require.True(t, ok)
		w.live(time.Minute, nil)
		_, ok = w.advice("a")
		require.False(t, ok)
		require.Equal(t, 1, w.counted[advise.Withdrawn])
	})
}
