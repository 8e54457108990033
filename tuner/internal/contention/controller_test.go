package contention_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/interference"

	"github.com/trellis-gpu/trellis/tuner/internal/contention"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/learn"
)

// counts are shared by the tuners of a harness.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) CountMeasurements(result string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[result] += n
}

func (c *counts) CountModelWrite(result string) { c.CountMeasurements(result, 1) }

func (c *counts) get(result string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[result]
}

// harness is a bus with nodes that publish speeds.
type harness struct {
	t      *testing.T
	bus    *membus.Bus
	node   *membus.Session
	counts *counts
}

func newHarness(t *testing.T) *harness {
	b := membus.New()
	return &harness{t: t, bus: b, node: b.Session(), counts: &counts{of: map[string]int{}}}
}

// startTuner starts a tuner and returns a function that stops it.
func (h *harness) startTuner() (stop func()) {
	ctx, cancel := context.WithCancel(h.t.Context())
	session, log := h.bus.Session(), slog.New(slog.DiscardHandler)
	recorder := history.NewRecorder(session, log)
	controller := contention.NewController(recorder, session, h.counts, log)
	go recorder.Run(ctx) // returns when ctx ends
	synctest.Wait()
	go controller.Run(ctx)
	synctest.Wait()
	return cancel
}

func kind(n int) interference.Kind { return interference.KindOf("test", fmt.Sprint(n)) }

// pair is a measurement of two jobs of equal speed.
func pair(a, b int, speed float64, seconds growth.Seconds) interference.Measurement {
	return interference.Measurement{Seconds: seconds, Set: []interference.Member{
		{Kind: kind(a), Activity: 1, Speed: speed}, {Kind: kind(b), Activity: 1, Speed: speed}}}
}

func (h *harness) measure(node growth.NodeName, sets ...interference.Measurement) {
	h.put(bus.SpeedsKey(node), bus.Speeds{Sets: sets})
}

func (h *harness) put(key string, record bus.Speeds) {
	value, err := bus.Encode(record)
	require.NoError(h.t, err)
	_, err = h.node.Put(h.t.Context(), key, value, bus.Ephemeral)
	require.NoError(h.t, err)
}

func (h *harness) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// model returns the record on the bus.
func (h *harness) model() (record bus.Interference, found bool) {
	entries, _, err := h.node.List(h.t.Context(), bus.Models)
	require.NoError(h.t, err)
	for _, e := range entries {
		record, err = bus.Decode[bus.Interference](e.Value)
		require.NoError(h.t, err)
		found = true
	}
	return record, found
}

// weights returns the number of observations of each pair.
func weights(record bus.Interference) map[string]float64 {
	all := map[string]float64{}
	for _, p := range record.Learned.Pairs {
		all[string(record.Learned.Kinds[p.Own].Kind)] = p.Weight
	}
	return all
}

func TestController_LearnsFromTheSpeedsOfAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		defer h.startTuner()()
		h.pass(2 * time.Minute)
		_, found := h.model()
		require.False(t, found, "nothing was measured")

		h.measure("n1", pair(1, 2, 0.5, 90))
		h.measure("n2", pair(1, 2, 0.5, 90), pair(3, 4, 0.9, 90))
		h.pass(2 * time.Minute)
		record, found := h.model()
		require.True(t, found)
		require.Len(t, record.Learned.Pairs, 4)
		require.InDelta(t, 1.8, weights(record)[string(kind(1))], 0.01, "two nodes")
		require.InDelta(t, 0.9, weights(record)[string(kind(3))], 0.01)

		learner, err := interference.Restore(interference.Prior(), record.Learned)
		require.NoError(t, err)
		p := learner.Model().Predict(interference.Member{Kind: kind(1)}, []interference.Member{{Kind: kind(2)}})
		require.InDelta(t, 2, float64(p.Mean), 0.1)
	})
}

func TestController_LearnsOnlyWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		stop := h.startTuner()
		h.measure("n1", pair(1, 2, 0.5, 90))
		h.pass(2 * time.Minute)
		first, _ := h.model()

		h.measure("n1", pair(1, 2, 0.5, 90)) // the same again
		h.pass(2 * time.Minute)
		same, _ := h.model()
		require.Equal(t, first.Learned, same.Learned)

		stop()
		stop = h.startTuner()
		h.pass(2 * time.Minute)
		restarted, _ := h.model()
		require.Equal(t, first.Learned, restarted.Learned, "a new leader continues")

		h.measure("n1", pair(1, 2, 0.5, 100))
		h.pass(2 * time.Minute)
		stop()
		later, _ := h.model()
		require.Greater(t, weights(later)[string(kind(1))], weights(first)[string(kind(1))])
	})
}

// The node has measured 90 s for the first leader, and 10 s before there is a second one, which cannot know that.
func TestController_ANewLeaderCountsNoTimeTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		stop := h.startTuner()
		h.measure("n1", pair(1, 2, 0.5, 90))
		h.pass(2 * time.Minute)
		first, _ := h.model()
		require.InDelta(t, 0.9, weights(first)[string(kind(1))], 0.01)
		stop()

		h.measure("n1", pair(1, 2, 0.5, 100), pair(3, 4, 0.9, 90))
		defer h.startTuner()()
		h.pass(2 * time.Minute)
		second, _ := h.model()
		require.InDelta(t, 0.9, weights(second)[string(kind(1))], 0.01, "learned by the first leader")
		require.InDelta(t, 0.9, weights(second)[string(kind(3))], 0.01, "a set that it did not know")

		h.measure("n1", pair(1, 2, 0.5, 190), pair(3, 4, 0.9, 90))
		h.pass(2 * time.Minute)
		third, _ := h.model()
		require.InDelta(t, 1.8, weights(third)[string(kind(1))], 0.01, "90 s more")
		require.InDelta(t, 0.9, weights(third)[string(kind(3))], 0.01)
	})
}

func TestController_IgnoresInvalidMeasurements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		defer h.startTuner()()
		broken := pair(1, 2, 0.5, 90)
		broken.Set[0].Kind = "lstm"
		h.measure("n1", broken, pair(1, 2, 7, 90), pair(3, 4, 0.5, 90), pair(5, 6, 0.5, -1))
		h.pass(2 * time.Minute)
		record, _ := h.model()
		require.Len(t, record.Learned.Pairs, 2)
		require.Equal(t, 1, h.counts.get(contention.Learned))
		require.Equal(t, 3, h.counts.get(contention.Invalid))
	})
}

func TestController_DoesNotTouchTheModelOfAnotherRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		key := bus.ModelKey(bus.InterferenceModel)
		_, err := h.node.Put(t.Context(), key, []byte(`{"v":2,"future":true}`), bus.Persistent)
		require.NoError(t, err)
		defer h.startTuner()()
		h.measure("n1", pair(1, 2, 0.5, 90))
		h.pass(5 * time.Minute)
		entries, _, err := h.node.List(t.Context(), bus.Models)
		require.NoError(t, err)
		require.JSONEq(t, `{"v":2,"future":true}`, string(entries[0].Value))

		require.NoError(t, h.node.Delete(t.Context(), key))
		h.pass(2 * time.Minute)
		record, found := h.model()
		require.True(t, found, "after the key is deleted it learns again")
		require.Len(t, record.Learned.Pairs, 2)
	})
}

func TestController_ReplacesAnImpossibleModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		impossible := `{"v":1,"learned":{"observations":1,"kinds":[],"pairs":[{"own":7,"others":[0]}]}}`
		_, err := h.node.Put(t.Context(), bus.ModelKey(bus.InterferenceModel), []byte(impossible), bus.Persistent)
		require.NoError(t, err)
		defer h.startTuner()()
		h.measure("n1", pair(1, 2, 0.5, 90))
		h.pass(2 * time.Minute)
		record, _ := h.model()
		require.Len(t, record.Learned.Pairs, 2)
	})
}

// Another leader has written in between: the older one starts again from that record.
func TestController_StartsAgainAfterAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		first, second := h.startTuner(), h.startTuner()
		defer first()
		defer second()
		for n := range 5 {
			h.measure("n1", pair(1, 2, 0.5, growth.Seconds(90*(n+1))))
			h.pass(2 * time.Minute)
		}
		record, _ := h.model()
		require.Len(t, record.Learned.Pairs, 2)
		require.Positive(t, h.counts.get(learn.Written))
	})
}

func TestController_SurvivesAnUnavailableBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		defer h.startTuner()()
		h.measure("n1", pair(1, 2, 0.5, 90))
		h.pass(2 * time.Minute)
		before, _ := h.model()
		h.measure("n1", pair(1, 2, 0.5, 300))
		h.bus.Fail(bus.ErrUnavailable)
		h.pass(5 * time.Minute)
		h.bus.Fail(nil)
		h.pass(5 * time.Minute)
		after, _ := h.model()
		require.Greater(t, weights(after)[string(kind(1))], weights(before)[string(kind(1))])
	})
}
