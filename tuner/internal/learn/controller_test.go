package learn_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/learn"
)

var key = bus.ModelKey(bus.PeaksModel)

// learner has something new at each look. Its record has no content.
type learner struct{ loads, saves int }

func (l *learner) Load(*bus.Peaks)                      { l.loads++ }
func (l *learner) Observe(*history.Snapshot, time.Time) {}
func (l *learner) Record() (bus.Peaks, bool)            { return bus.Peaks{}, true }
func (l *learner) Saved()                               { l.saves++ }

// start runs a controller on a bus until the test ends.
func start(t *testing.T, b *membus.Bus) *learner {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	session, log, l := b.Session(), slog.New(slog.DiscardHandler), &learner{}
	recorder := history.NewRecorder(session, log)
	c := learn.Controller[bus.Peaks, *bus.Peaks]{
		Source: recorder, Writer: session, Learner: l, Log: log, Name: bus.PeaksModel,
		Of: func(s *history.Snapshot) (*bus.Peaks, bus.Revision) { return s.Peaks, s.PeaksRevision },
	}
	go recorder.Run(ctx) // returns when ctx ends
	synctest.Wait()
	go c.Run(ctx)
	return l
}

func value(t *testing.T, b *membus.Bus) string {
	entries, _, err := b.Session().List(t.Context(), key)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	return string(entries[0].Value)
}

func TestController_WritesOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, membus.New())
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		require.Equal(t, learner{loads: 1, saves: 6}, *l)
	})
}

// Two tuners may both take themselves for the leader for a moment.
func TestController_LoadsWhatAnotherHasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		l := start(t, b)
		time.Sleep(15 * time.Second)
		written, err := bus.Encode(bus.Peaks{})
		require.NoError(t, err)
		_, err = b.Session().Put(t.Context(), key, written, bus.Persistent)
		require.NoError(t, err)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.Equal(t, 2, l.loads)
	})
}

func TestController_BeginsEachTermBeforeItLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, log, l := membus.New().Session(), slog.New(slog.DiscardHandler), &learner{}
		recorder := history.NewRecorder(session, log)
		var loadsBefore []int
		c := learn.Controller[bus.Peaks, *bus.Peaks]{
			Source: recorder, Writer: session, Learner: l, Log: log, Name: bus.PeaksModel,
			Begin: func() { loadsBefore = append(loadsBefore, l.loads) },
			Of:    func(s *history.Snapshot) (*bus.Peaks, bus.Revision) { return s.Peaks, s.PeaksRevision },
		}
		go recorder.Run(t.Context()) // returns when the test ends
		synctest.Wait()
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second) // between two looks
			c.Run(ctx)
			cancel()
		}
		require.Equal(t, []int{0, 1}, loadsBefore)
		require.Equal(t, 2, l.loads)
	})
}

func TestController_LeavesARecordOfANewerRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		const newer = `{"v":99}`
		_, err := b.Session().Put(t.Context(), key, []byte(newer), bus.Persistent)
		require.NoError(t, err)
		l := start(t, b)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.Equal(t, newer, value(t, b))
		require.Zero(t, l.saves)
	})
}
