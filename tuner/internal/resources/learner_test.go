package resources_test

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
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/peaks"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
)

// sample is that of a job of one program that has used an amount of memory.
func sample(uid growth.PodUID, memory growth.MiB) bus.Sample {
	var p peaks.Profile
	for range 5 {
		p = p.Add(peaks.Use{CPU: 2 * growth.Core, Memory: memory, GPUUsed: 2 * memory}, 10)
	}
	return bus.Sample{
		Pod:         growth.PodRef{Namespace: "team-a", Name: string(uid), UID: uid},
		Kind:        "train",
		Profile:     &p,
		StepSeconds: 0.5,
	}
}

// started is the sample of a job of the same program before its first step.
func started(namespace string) bus.Sample {
	return bus.Sample{Pod: growth.PodRef{Namespace: namespace, Name: "new", UID: "new"}, Kind: "train"}
}

func put[T any, R bus.Record[T]](t *testing.T, b bus.Bus, key string, record T) {
	t.Helper()
	value, err := bus.Encode[T, R](record)
	require.NoError(t, err)
	_, err = b.Put(t.Context(), key, value, bus.Persistent)
	require.NoError(t, err)
}

// startTuner starts a tuner and returns a function that stops it.
func startTuner(t *testing.T, b *membus.Bus) (learner *resources.Learner, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	log := slog.New(slog.DiscardHandler)
	session := b.Session()
	recorder := history.NewRecorder(session, log)
	learner = &resources.Learner{}
	controller := resources.NewController(recorder, session, learner, log)
	go recorder.Run(ctx) // returns when ctx ends
	synctest.Wait()
	go controller.Run(ctx)
	synctest.Wait()
	return learner, cancel
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestLearner_PredictsJobsFromThoseThatHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		node := b.Session()
		learner, stop := startTuner(t, b)
		s := sample("a", 3000)
		put(t, node, bus.SampleKey("a"), s)
		pass(time.Minute)
		s.Step = 5
		put(t, node, bus.SampleKey("a"), s)
		pass(time.Minute)
		require.Nil(t, learner.Recommend(started("team-a"), time.Now()).Memory, "the job has not ended")
		require.NoError(t, node.Delete(t.Context(), bus.SampleKey("a")))
		pass(2 * time.Minute)

		check := func(learner *resources.Learner) {
			r := learner.Recommend(started("team-a"), time.Now())
			require.InDelta(t, 3000, r.Memory.Likely, 1)
			require.InDelta(t, 6000, r.GPUMemory.Likely, 1)
			require.InDelta(t, 0.5, r.StepSeconds.Likely, 0.01)
			require.Nil(t, learner.Recommend(started("team-b"), time.Now()).Memory, "another namespace")
		}
		check(learner)
		stop()
		pass(time.Second)
		again, stop := startTuner(t, b)
		defer stop()
		pass(time.Minute)
		check(again)
	})
}

// Nothing is learned before the first look at a bus that was read. A later term of leadership reads it again.
func TestLearner_IsLoadedOnceTheBusWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, session := slog.New(slog.DiscardHandler), membus.New().Session()
		recorder, learner := history.NewRecorder(session, log), &resources.Learner{}
		controller := resources.NewController(recorder, session, learner, log)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		term, end := context.WithCancel(ctx)
		go controller.Run(term) // returns when its term ends
		pass(time.Minute)
		require.False(t, learner.Loaded())
		go recorder.Run(ctx) // returns when ctx ends
		pass(11 * time.Second)
		require.True(t, learner.Loaded(), "no model is stored")

		end()
		pass(time.Second)
		learner.Begin()
		require.False(t, learner.Loaded())
		go controller.Run(ctx)
		pass(time.Second)
		require.True(t, learner.Loaded())
	})
}

// Learning takes time, so jobs that end one after another are learned together. They are remembered at once.
func TestLearner_LearnsOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		node := b.Session()
		learner, stop := startTuner(t, b)
		defer stop()
		kinds := map[growth.PodUID]interference.Kind{"a": "first", "b": "second"}
		for uid, kind := range kinds {
			s := sample(uid, 3000)
			s.Kind = kind
			put(t, node, bus.SampleKey(uid), s)
		}
		known := func(kind interference.Kind) bool {
			young := started("team-a")
			young.Kind = kind
			return learner.Recommend(young, time.Now()).Memory != nil
		}
		pass(10 * time.Second)
		require.NoError(t, node.Delete(t.Context(), bus.SampleKey("a")))
		pass(20 * time.Second)
		require.NoError(t, node.Delete(t.Context(), bus.SampleKey("b")))
		pass(50 * time.Second)
		require.True(t, known("first"))
		pass(20 * time.Second)
		require.False(t, known("second"))
		record, _ := learner.Record()
		require.Len(t, record.Runs, 2)
		pass(time.Minute)
		require.True(t, known("second"))
	})
}

// stepping is the sample of a job of the program that makes steps with so much CPU.
func stepping(uid growth.PodUID, step int64, seconds growth.Seconds, used growth.MilliCPU) bus.Sample {
	s := sample(uid, 3000)
	s.Step, s.StepSeconds, s.CPUUsed = step, seconds, used
	return s
}

// A job that had a tenth of a core made its steps in 5 s. One with a core is expected to make them in half a second.
func TestLearner_LearnsTheCostOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		node := b.Session()
		learner, stop := startTuner(t, b)
		defer stop()
		for step := range int64(9) {
			seconds := growth.Seconds(5)
			if step == 8 {
				seconds = 900 // while it saved its result
			}
			put(t, node, bus.SampleKey("a"), stepping("a", step+1, seconds, 100))
			pass(10 * time.Second)
		}
		require.NoError(t, node.Delete(t.Context(), bus.SampleKey("a")))
		pass(2 * time.Minute)
		young := started("team-a")
		for name, tc := range map[string]struct {
			change func(s *bus.Sample)
			want   float64 // 0 if it is unknown
		}{
			"by its request":            {func(s *bus.Sample) { s.CPURequest = growth.Core }, .5},
			"by what it uses already":   {func(s *bus.Sample) { s.CPURequest, s.CPUUsed = 500, growth.Core }, .5},
			"no more than it can use":   {func(s *bus.Sample) { s.CPURequest, s.Usable = 4*growth.Core, growth.Core }, .5},
			"by a small request":        {func(s *bus.Sample) { s.CPURequest = 100 }, 5},
			"where GPU time is divided": {func(s *bus.Sample) { s.GPUTime = &bus.GPUTime{Share: 1} }, 0},
		} {
			s := young
			tc.change(&s)
			r := learner.Recommend(s, time.Now())
			require.Equal(t, tc.want > 0, r.StepSeconds != nil, name)
			if tc.want > 0 {
				require.InDelta(t, tc.want, r.StepSeconds.Likely, tc.want/100, name)
			}
		}
	})
}

// The job that runs is ten times slower than the earlier one of its program. Its first steps correct the prediction, until its batch
// size changes.
func TestLearner_CorrectsThePredictionByTheFirstSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		node := b.Session()
		learner, stop := startTuner(t, b)
		defer stop()
		learner.Load(&bus.Peaks{Runs: []peaks.Run{{
			Namespace: "team-a", Kind: "train", Peak: peaks.Use{Memory: 3000}, StepSeconds: .5, StepUse: growth.Core,
		}}})
		predicted := func(s bus.Sample) (float64, int) {
			r := learner.Recommend(s, time.Now())
			require.NotNil(t, r.StepSeconds)
			return r.StepSeconds.Likely, r.StepsSeen
		}
		first := started("team-a")
		first.CPURequest = growth.Core
		before, seen := predicted(first)
		require.InDelta(t, .5, before, .01)
		require.Zero(t, seen)
		var s bus.Sample
		for step := range int64(8) {
			s = stepping("new", 1+step, 5, growth.Core)
			put(t, node, bus.SampleKey("new"), s)
			pass(30 * time.Second) // a sample counts once
			likely, seen := predicted(s)
			require.Greater(t, likely, before*(1-1e-9))
			require.Equal(t, min(int(step), peaks.MaxSteps), seen, "the first sample measures nothing")
			before = likely
		}
		require.InDelta(t, 5, before, 1.5)

		waiting := s
		waiting.CPUUsed = 0
		likely, seen := predicted(waiting)
		require.Equal(t, peaks.MaxSteps, seen)
		require.InDelta(t, before, likely, 1e-9, "a job that waits")
		other := s
		other.BatchSize = new(64)
		put(t, node, bus.SampleKey("new"), other)
		pass(30 * time.Second)
		likely, seen = predicted(other)
		require.InDelta(t, .5, likely, .01, "another batch size, without a step yet")
		require.Zero(t, seen)
		other.Model = &peaks.Model{BatchSize: 64}
		put(t, node, bus.SampleKey("new"), other)
		pass(30 * time.Second)
		require.Nil(t, learner.Recommend(other, time.Now()).StepSeconds, "another model")
	})
}

// A job that has just started uses little.
func TestLearner_DoesNotRecommendFromTheStart(t *testing.T) {
	var l resources.Learner
	s := started("team-a")
	use := peaks.Profile{}.Add(peaks.Use{CPU: 20, Memory: 5}, 10)
	s.Profile = &use
	require.Nil(t, l.Recommend(s, time.Now()).Memory)
	s.Step = 1
	require.NotNil(t, l.Recommend(s, time.Now()).Memory)
	s.Step, use = 0, use.Add(peaks.Use{CPU: 20, Memory: 5}, 10).Add(peaks.Use{CPU: 20, Memory: 5}, 10)
	require.NotNil(t, l.Recommend(s, time.Now()).Memory, "it reports no steps")
}

// A program that uses half a core is not faster with a request of four.
func TestLearner_PredictsStepsByWhatSuchJobsUse(t *testing.T) {
	var l resources.Learner
	l.Load(&bus.Peaks{Runs: []peaks.Run{{
		Namespace: "team-a", Kind: "train", Peak: peaks.Use{CPU: 500, Memory: 3000}, StepSeconds: 1, StepUse: 500,
	}}})
	young := started("team-a")
	young.CPURequest = 4 * growth.Core
	require.InDelta(t, 1, l.Recommend(young, time.Now()).StepSeconds.Likely, .01)
}

// What a job uses while it is paused says nothing about the steps that it made before.
func TestLearner_APausedJobMeasuresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		node := b.Session()
		learner, stop := startTuner(t, b)
		defer stop()
		for step := range int64(3) {
			s := stepping("a", 1+step, 5, growth.Core)
			s.Paused = bus.PauseCPU
			put(t, node, bus.SampleKey("a"), s)
			pass(20 * time.Second)
			require.Zero(t, learner.Recommend(s, time.Now()).StepsSeen)
		}
	})
}

// A step on a GPU costs the work since the last sample, also if the job holds nothing of the GPU when it is sampled.
func TestLearner_LearnsTheCostOfAStepOnAGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		node := b.Session()
		learner, stop := startTuner(t, b)
		defer stop()
		s := stepping("a", 1, 4, 300)
		s.GPUTime = &bus.GPUTime{Share: .5, HeldShare: .25, SetSpeed: .5, Work: 7}
		put(t, node, bus.SampleKey("a"), s)
		pass(time.Minute)
		s.Step = 9
		s.GPUTime = &bus.GPUTime{Share: .25, HeldShare: .001, Work: 11}
		put(t, node, bus.SampleKey("a"), s)
		pass(time.Minute)
		require.InDelta(t, 2, learner.Recommend(s, time.Now()).StepSeconds.Likely, .01, "at its present share")
		s.GPUTime.Pace = .4
		require.InDelta(t, 1.25, learner.Recommend(s, time.Now()).StepSeconds.Likely, .01, "next to a job that leaves it gaps")
		s.Step, s.GPUTime = 12, &bus.GPUTime{Share: .25, Work: 1}
		put(t, node, bus.SampleKey("a"), s) // its coordinator counts again
		pass(time.Minute)
		require.Equal(t, 1, learner.Recommend(s, time.Now()).StepsSeen)
		require.NoError(t, node.Delete(t.Context(), bus.SampleKey("a")))
		pass(2 * time.Minute)
		for share, want := range map[growth.Share]float64{1: .5, .5: 1} {
			young := started("team-a")
			young.GPUTime = &bus.GPUTime{Share: share}
			require.InDelta(t, want, learner.Recommend(young, time.Now()).StepSeconds.Likely, .01)
		}
	})
}

func TestLearner_IgnoresInvalidRecords(t *testing.T) {
	var l resources.Learner
	l.Load(&bus.Peaks{Runs: []peaks.Run{
		{Namespace: "team-a", Kind: "train", Peak: peaks.Use{Memory: -7}},
		{Namespace: "team-a", Kind: "train", Peak: peaks.Use{Memory: 1 << 50}, StepSeconds: -1},
	}})
	require.Zero(t, l.Recommend(started("team-a"), time.Now()))
}

// The throughput of a pod is that of its part of the job. How many parts there are is unknown if no pod names a world size.
func TestLearner_LearnsTheThroughputOfAKnownNumberOfPods(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	pods := func(count, worldSize int) *history.Snapshot {
		s := &history.Snapshot{}
		for _, uid := range []growth.PodUID{"a", "b"}[:count] {
			pod := sample(uid, 3000)
			pod.Gang, pod.WorldSize, pod.SamplesPerSecond = "g", worldSize, 100
			s.Jobs = append(s.Jobs, history.Job{UID: uid, Sample: &pod})
		}
		return s
	}
	for name, tc := range map[string]struct {
		before *history.Snapshot
		want   []elastic.Measured // next to those that are invalid
	}{
		"one pod":                            {pods(1, 0), []elastic.Measured{{Workers: 1, Rate: 100}}},
		"two pods of two processes":          {pods(2, 2), []elastic.Measured{{Workers: 2, Rate: 200}, {Workers: 2, Rate: 200}}},
		"two pods that name no world size":   {pods(2, 0), nil},
		"one of two pods, without the other": {pods(1, 2), []elastic.Measured{{Workers: 2, Rate: 200}}},
	} {
		t.Run(name, func(t *testing.T) {
			var l resources.Learner
			l.Observe(tc.before, now)
			l.Observe(&history.Snapshot{}, now)
			l.Observe(&history.Snapshot{}, now.Add(2*history.LostAfter))
			record, _ := l.Record()
			require.Len(t, record.Runs, len(tc.before.Jobs))
			var got []elastic.Measured
			for _, m := range l.Widths(started("team-a"), nil) {
				if m.Rate > 0 {
					got = append(got, m)
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}
