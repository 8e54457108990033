package resources_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/peaks"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
)

// A coordinator that restarts revokes its lease, and with it the samples of its jobs. They come back with the next coordinator.
func TestLearner_AJobHasEndedOnlyOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		away       time.Duration
		remembered int // meanwhile
	}{
		"while its coordinator restarts": {30 * time.Second, 0},
		"during a long outage":           {3 * time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := membus.New()
				node := b.Session()
				learner, stop := startTuner(t, b)
				defer stop()
				remembered := func() []peaks.Run { record, _ := learner.Record(); return record.Runs }
				put(t, node, bus.SampleKey("a"), sample("a", 1000))
				pass(30 * time.Second)
				require.NoError(t, node.Delete(t.Context(), bus.SampleKey("a")))
				pass(tc.away)
				require.Len(t, remembered(), tc.remembered)
				put(t, node, bus.SampleKey("a"), sample("a", 3000))
				pass(5 * time.Minute)
				require.Len(t, remembered(), tc.remembered, "it runs")
				require.NoError(t, node.Delete(t.Context(), bus.SampleKey("a")))
				pass(2 * time.Minute)
				require.Len(t, remembered(), 1)
				require.Equal(t, growth.MiB(3000), remembered()[0].Peak.Memory)
			})
		})
	}
}

// A coordinator counts again after a restart. What its jobs' steps took before is not forgotten.
func TestLearner_KeepsStepsWhileACoordinatorRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		node := b.Session()
		learner, stop := startTuner(t, b)
		defer stop()
		for step := range int64(3) {
			put(t, node, bus.SampleKey("a"), stepping("a", 1+step, 5, growth.Core))
			pass(20 * time.Second)
		}
		s := stepping("a", 3, 5, growth.Core)
		require.Equal(t, 2, learner.Recommend(s, time.Now()).StepsSeen)
		require.NoError(t, node.Delete(t.Context(), bus.SampleKey("a")))
		pass(20 * time.Second)
		put(t, node, bus.SampleKey("a"), s)
		pass(20 * time.Second)
		require.Equal(t, 2, learner.Recommend(s, time.Now()).StepsSeen)
	})
}

// A leader that has lost its lease and leads again does not know which of its jobs another leader has remembered since.
func TestLearner_ATermStartsWithoutTheJobsOfAnEarlierOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		node := b.Session()
		session, log, learner := b.Session(), slog.New(slog.DiscardHandler), &resources.Learner{}
		recorder := history.NewRecorder(session, log)
		controller := resources.NewController(recorder, session, learner, log)
		go recorder.Run(t.Context()) // returns when the test ends
		synctest.Wait()
		lead := func(d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			controller.Run(ctx)
		}
		put(t, node, bus.SampleKey("a"), sample("a", 1000))
		lead(time.Minute)

		require.NoError(t, node.Delete(t.Context(), bus.SampleKey("a")))
		run := peaks.Run{Pod: "a", Namespace: "team-a", Kind: "train", Peak: peaks.Use{Memory: 3000}}
		put(t, node, bus.ModelKey(bus.PeaksModel), bus.Peaks{Runs: []peaks.Run{run}}) // by the other leader
		pass(time.Hour)
		lead(5 * time.Minute)
		record, changed := learner.Record()
		require.Equal(t, []peaks.Run{run}, record.Runs)
		require.False(t, changed)
	})
}

// Two tuners may both take themselves for the leader for a moment. What one has written replaces what the other knows, apart from what
// that has not written yet.
func TestLearner_AddsWhatIsNotSavedToANewerRecord(t *testing.T) {
	var l resources.Learner
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	end := func(uid growth.PodUID) {
		s := sample(uid, 3000)
		l.Observe(&history.Snapshot{Jobs: []history.Job{{UID: uid, Sample: &s}}}, at)
		for range 3 {
			at = at.Add(time.Minute)
			l.Observe(&history.Snapshot{}, at)
		}
	}
	pods := func() (all []growth.PodUID) {
		record, _ := l.Record()
		for _, r := range record.Runs {
			all = append(all, r.Pod)
		}
		return all
	}
	end("a")
	l.Saved()
	end("b")
	require.Equal(t, []growth.PodUID{"a", "b"}, pods())
	l.Load(&bus.Peaks{Runs: []peaks.Run{{Pod: "c", Namespace: "team-a", Kind: "train", Peak: peaks.Use{Memory: 3000}}}})
	require.Equal(t, []growth.PodUID{"c", "b"}, pods())
	_, changed := l.Record()
	require.True(t, changed)
	l.Saved()
	_, changed = l.Record()
	require.False(t, changed)
}

// The largest record can be written.
func TestLearner_RecordIsSmallEnough(t *testing.T) {
	name := func(length, i int) string { return fmt.Sprintf("%0*d", length, i) }
	var record bus.Peaks
	for i := range peaks.MaxRuns {
		record.Runs = append(record.Runs, peaks.Run{
			Pod: growth.PodUID(name(256, i)), Namespace: name(256, i), Kind: name(256, i),
			Model:       peaks.Model{BatchSize: 1 << 24, FLOPs: 1.234567890123456e23, Params: 1.234567890123456e23},
			Peak:        peaks.Use{CPU: 9_999_999, Memory: 63 << 20, GPUReserved: 63 << 20, GPUUsed: 63 << 20},
			StepSeconds: 123456.78901234567, StepUse: 9_999_999, StepUnit: growth.GPUSecond,
			Width: elastic.Measured{Workers: elastic.MaxWorkers, Rate: 123456.78901234567},
		})
	}
	var l resources.Learner
	l.Load(&record)
	kept, _ := l.Record()
	require.Len(t, kept.Runs, peaks.MaxRuns)
	_, err := bus.Encode(kept)
	require.NoError(t, err)
}
