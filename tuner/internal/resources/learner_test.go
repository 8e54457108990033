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
	"github.com/trellis-gpu/trellis/growth/peaks"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
)

// sample is that of a job of one program that has used an amount of memory.
func sample(uid growth.PodUID, memory growth.MiB) bus.Sample {
	var p peaks.Profile
	for range 5 {
		p = p.Add(peaks.Use{CPU: 700, Memory: memory, GPUUsed: 2 * memory}, 10)
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
	controller := resources.Controller{Source: recorder, Writer: session, Learner: learner, Log: log}
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
		put(t, node, bus.SampleKey("a"), sample("a", 3000))
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

func TestLearner_IgnoresInvalidRecords(t *testing.T) {
	var l resources.Learner
	l.Load(&bus.Peaks{Runs: []peaks.Run{
		{Namespace: "team-a", Kind: "train", Peak: peaks.Use{Memory: -7}},
		{Namespace: "team-a", Kind: "train", Peak: peaks.Use{Memory: 1 << 50}, StepSeconds: -1},
	}})
	require.Zero(t, l.Recommend(started("team-a"), time.Now()))
}
