package node_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/trial"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const everything = gpushare.TuneAnnotation + "=cpu,loaders,batch-size"

// trainee is a job that applies configs like the shim.
type trainee struct {
	*harness
	name           string
	made           int64 // steps made
	batch, loaders int
	generation     int64
	worse          float64 // relative loss of speed with a batch size above 64
	inEpoch        bool    // it does not take a batch size
	reports        func(*wire.Progress)
}

func newTrainee(w *harness) *trainee {
	j := &trainee{harness: w, name: "a", batch: 64, loaders: 2}
	w.arrive(j.name, everything)
	w.pass(time.Second)
	return j
}

// run lets n intervals pass.
func (j *trainee) run(n int) {
	for range n {
		config, sent := j.sent["slot-"+j.name]
		if sent && config.Generation > j.generation {
			j.step(node.ConfigSent{Slot: "slot-" + j.name, Generation: config.Generation})
			if config.Loaders != nil {
				j.loaders = *config.Loaders
			}
			if config.BatchSize != nil && !j.inEpoch {
				j.batch = *config.BatchSize
			}
			if config.BatchSize == nil || j.batch == *config.BatchSize {
				j.generation = config.Generation
				j.step(node.ConfigAcked{Slot: "slot-" + j.name, Ack: wire.Ack{Generation: config.Generation, Applied: config.Values}})
			}
		}
		speed := 1.0
		if j.batch > 64 {
			speed -= j.worse
		}
		j.made++
		batch, loaders := j.batch, j.loaders
		p := wire.Progress{
			Step: j.made, Samples: int64(1000 * speed), StepSeconds: 1, BatchSize: &batch, Loaders: &loaders,
			Metrics: wire.Metrics{{Name: "loss", Value: 1 / float64(j.made)}},
		}
		if j.reports != nil {
			j.reports(&p)
		}
		j.send(j.name, p)
		j.pass(interval)
	}
}

func (j *trainee) advise(generation int64, batch, loaders int) {
	a := bus.Advice{Generation: generation, BatchSize: &batch, Reason: "more samples a second"}
	if loaders > 0 {
		a.Loaders = &loaders
	}
	j.advice[ref(j.name).UID] = a
	j.step(node.AdviceChanged{Advice: maps.Clone(j.advice)})
	j.pass(time.Second)
}

func TestTrial_KeepsABatchSize(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.advise(7, 128, 0)
		j.run(2)
		require.Empty(t, w.sent, "there is no baseline yet")
		j.run(3)
		require.Equal(t, 128, j.batch)
		require.Equal(t, 1, w.eventCount("a BatchSizeChanged: Batch size: 64 → 128, acknowledged by the job (more samples a second)"))
		require.Equal(t, []int64{7, 7}, []int64{w.sample("a").Generation, w.sample("a").Applied}, "the sample has the generation of the advice")
		require.Zero(t, w.eventCount("a BatchSizeKept"))
		j.run(6)
		require.Equal(t, 1, w.eventCount("a BatchSizeKept: On trial: batch size 128 stays: 100.0 samples/s, 100.0 with 64"))
		require.Equal(t, trial.Idle, w.state("a").Trial.Phase)
		j.run(20)
		require.Equal(t, 128, j.batch)
	})
}

func TestTrial_RollsBackForGood(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.worse = .5
		j.advise(7, 128, 0)
		j.run(12)
		require.Equal(t, 64, j.batch)
		require.Equal(t, 1, w.eventCount("a BatchSizeRolledBack: On trial: batch size 128 goes back to 64, and is not tried again: 50.0 samples/s, below the limit of 90.0 (100.0 before)"))
		require.Equal(t, 2, w.eventCount("a BatchSizeChanged"))
		require.Equal(t, 1, w.eventCount("a BatchSizeChanged: Batch size: 128 → 64, acknowledged by the job (as before the trial)"))
		require.Equal(t, 128, w.state("a").Trial.RejectedFrom)

		j.advise(8, 128, 0)
		j.run(12)
		j.advise(9, 256, 0)
		j.run(12)
		require.Equal(t, 64, j.batch)
		require.Equal(t, 2, w.eventCount("a BatchSizeChanged"), "a rejected size is not offered again")
		j.advise(10, 32, 0)
		j.run(12)
		require.Equal(t, 32, j.batch, "another size is offered")
		require.Equal(t, 1, w.eventCount("a BatchSizeKept"))
	})
}

func TestTrial_DelaysLoaders(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.advise(7, 128, 0)
		j.run(5)
		require.Equal(t, trial.Trying, w.state("a").Trial.Phase)
		j.advise(8, 128, 4)
		j.run(2)
		require.Equal(t, 2, j.loaders)
		j.run(6)
		require.Equal(t, 1, w.eventCount("a BatchSizeKept"))
		require.Equal(t, 4, j.loaders)
	})
}

// A job may take an offered size only at the end of an epoch of hours. Its loaders do not wait for that.
func TestTrial_DoesNotDelayLoadersWhileASizeIsOffered(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.inEpoch = true
		j.advise(7, 128, 0)
		j.run(5)
		require.Equal(t, trial.Offered, w.state("a").Trial.Phase)
		j.advise(8, 128, 4)
		j.run(3)
		require.Equal(t, 4, j.loaders)
		require.Equal(t, 4, *w.sample("a").Loaders)
		require.Equal(t, trial.Offered, w.state("a").Trial.Phase)
		j.inEpoch = false
		j.run(6)
		require.Equal(t, 1, w.eventCount("a BatchSizeKept: On trial: batch size 128 stays: 100.0 samples/s, 100.0 with 64"))
		require.Equal(t, []int64{8, 8}, []int64{w.sample("a").Generation, w.sample("a").Applied})
	})
}

func TestTrial_NeedsThePermissionOfTheUser(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.arrive("a", gpushare.TuneAnnotation+"=cpu,loaders")
		w.pass(time.Second)
		j := &trainee{harness: w, name: "a", batch: 64, loaders: 2}
		j.advise(7, 128, 3)
		j.run(12)
		require.Equal(t, []int{64, 3}, []int{j.batch, j.loaders})
		require.Nil(t, w.state("a").Trial)
	})
}

// A coordinator can be killed at any time in a trial. The next coordinator finishes the trial and keeps its result.
func TestTrial_SurvivesARestart(t *testing.T) {
	for after := range 13 {
		w := newHarness(t)
		w.start(policy.FlowCon)
		j := newTrainee(w)
		j.worse = .5
		j.advise(7, 128, 0)
		j.run(after)
		past := slices.Collect(maps.Values(w.samples))
		w.memory = node.Memory{}
		w.sent, j.generation = map[string]wire.Config{}, 0 // a new connection starts over
		w.start(policy.FlowCon)
		w.step(node.SamplesRestored{Samples: past})
		pod, _ := w.pod(ref("a").UID)
		w.apply(pod)
		w.pass(time.Second)
		j.run(14)
		require.Equal(t, 64, j.batch, "after %d", after)
		require.Equal(t, 1, w.eventCount("a BatchSizeRolledBack"), "after %d", after)
		require.Equal(t, growth.PerSecond(100), w.sample("a").SamplesPerSecond)
	}
}
