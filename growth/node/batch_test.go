package node_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// declares lets the trainee declare a range and report gradients with each step.
func (j *trainee) declares() {
	j.reports = func(p *wire.Progress) {
		p.Batch = &wire.Batch{Default: 64, Min: 16, Max: 256, LearningRate: "linear"}
		p.Gradients = &wire.Gradients{Count: 1, Small: int64(j.batch), SmallSquared: 101 * 64 / float64(j.batch), Large: 2 * int64(j.batch), LargeSquared: 51 * 64 / float64(j.batch)}
	}
}

func TestBatch_TheSampleHasWhatWasMeasured(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.declares()
		j.run(12)
		s := w.sample("a").Batch
		require.Equal(t, goodput.Range{Default: 64, Min: 16, Max: 256, Rule: goodput.Linear}, s.Range)
		require.Len(t, s.Points, 1)
		require.Equal(t, 64, s.Points[0].Batch)
		require.True(t, s.Noise.Known())
		require.False(t, s.Trying)
		require.Positive(t, s.MemoryLimit)
		j.advise(7, 128, 0)
		j.run(12)
		require.Equal(t, 1, w.eventCount("a BatchSizeTried: On trial: batch size 128 is offered in place of 64"))
		require.Equal(t, 1, w.eventCount("a BatchSizeKept"))
		s = w.sample("a").Batch
		require.Len(t, s.Points, 2)
		require.Equal(t, 128, s.Points[1].Batch)
	})
}

// The last batch of an epoch has fewer samples. What a size does in a second follows from those that its steps have.
func TestBatch_StepsCountAsFullOnes(t *testing.T) {
	for name, tc := range map[string]struct{ part, want float64 }{
		"full batches":                    {1, 1},
		"one of four has a quarter":       {13.0 / 16, 16.0 / 13},
		"the job counts samples by parts": {1.0 / 8, 1},
		"the job counts samples by words": {500, 1},
		"the job counts no samples":       {0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.FlowCon, func(t *testing.T, w *harness) {
				j := newTrainee(w)
				j.declares()
				declared, step := j.reports, 0.0
				j.reports = func(p *wire.Progress) {
					declared(p)
					p.Steps, p.Samples = 16, int64(16*float64(j.batch)*tc.part)
					step = float64(p.StepSeconds)
				}
				j.run(6)
				s := w.sample("a")
				require.InEpsilon(t, tc.want, float64(s.Batch.Points[0].Step)/float64(s.StepSeconds), 1e-6)
				require.InEpsilon(t, step, float64(s.StepSeconds), 1e-6)
			})
		})
	}
}

// The ranks of a job on one GPU need their memory at the same time. What the driver needs for a process, 512 MiB, is added once.
func TestBatch_TheMemoryIsThatOfAllRanks(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.declares()
		declared := j.reports
		j.reports = func(p *wire.Progress) {
			declared(p)
			for rank := range 2 {
				own := *p
				own.Process = wire.Process{Rank: &rank, LocalRank: &rank, WorldSize: 2}
				own.GPUMemory = growth.MiB(300 + 100*rank)
				if rank == 1 {
					j.step(node.ProgressReported{Slot: "slot-a", Connection: 2, Source: gpushare.FromSocket, Progress: own})
				} else {
					*p = own
				}
			}
		}
		j.run(6)
		require.Equal(t, growth.MiB(300+400+512), w.sample("a").Batch.Points[0].Memory)
	})
}

func TestBatch_ATrialComparesGoodput(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.reports = func(p *wire.Progress) { // almost no noise: twice the samples of a step are worth no more
			p.Batch = &wire.Batch{Default: 64, Min: 16, Max: 256}
			p.Gradients = &wire.Gradients{Count: 1, Small: 64, SmallSquared: 1.001, Large: 128, LargeSquared: 1}
		}
		j.run(12)
		j.advise(7, 128, 0)
		j.run(12)
		require.Equal(t, 1, w.eventCount("a BatchSizeRolledBack: On trial: batch size 128 goes back to 64, and is not tried again: "+
			"50.0 useful samples/s, below the limit of 90.0 (100.0 before)"))
		require.Equal(t, 128, w.sample("a").Batch.RejectedFrom)
	})
}

func TestBatch_AdviceOutsideTheRangeIsIgnored(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.declares()
		j.run(1)
		for generation, size := range []int{512, 8, 1 << 23} {
			j.advise(int64(generation+1), size, 0)
			j.run(8)
			require.Equal(t, 64, j.batch)
		}
	})
}

func TestBatch_SurvivesARestart(t *testing.T) {
	w := newHarness(t)
	w.start(policy.FlowCon)
	j := newTrainee(w)
	j.declares()
	j.run(12)
	before := w.sample("a").Batch
	w.restart(policy.FlowCon, "a")
	require.Equal(t, before.Points, w.sample("a").Batch.Points)
	require.Equal(t, before.Noise, w.sample("a").Batch.Noise)
}

// A job that reports garbage about its gradients changes nothing but its own advice.
func TestBatch_Garbage(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.reports = func(p *wire.Progress) {
			p.Batch = &wire.Batch{Default: 64, Min: 16, Max: 256, LearningRate: "cube"}
			p.Gradients = &wire.Gradients{Count: math.MaxInt64, Small: 1, SmallSquared: math.Inf(1), Large: 0, LargeSquared: math.NaN()}
			p.GPUMemory, p.StepSeconds = -5, -1
		}
		j.run(12)
		s := w.sample("a").Batch
		require.Empty(t, s.Points)
		require.False(t, s.Noise.Known())
		require.Empty(t, s.Options(64))
	})
}

// restart replaces the coordinator. The next one reads the samples that the last one has published.
func (w *harness) restart(p policy.Name, name string) {
	past := []bus.Sample{w.sample(name)}
	w.memory = node.Memory{}
	w.start(p)
	w.step(node.SamplesRestored{Samples: past})
	pod, _ := w.pod(ref(name).UID)
	w.apply(pod)
	w.pass(time.Second)
}
