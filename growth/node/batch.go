package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/trial"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// batchState is what a job reports for advice on its batch size.
type batchState struct {
	known goodput.State
	last  int // size at the last tick; 0 if unknown
}

// add adds a report of one process.
func (b *batchState) add(p wire.Progress) {
	if p.Batch != nil {
		declared := goodput.Range{
			Default: p.Batch.Default,
			Min:     p.Batch.Min,
			Max:     p.Batch.Max,
			Rule:    goodput.Rule(p.Batch.LearningRate),
		}
		if declared != b.known.Range {
			b.known = goodput.State{Range: declared} // another program: what was measured says nothing about it
		}
	}
	if g := p.Gradients; g != nil {
		b.known.Noise = b.known.Noise.Add(goodput.Comparison{
			Small:        float64(g.Small),
			SmallSquared: g.SmallSquared,
			Large:        float64(g.Large),
			LargeSquared: g.LargeSquared,
		})
	}
}

// declared reports whether the job has declared a range.
func (b *batchState) declared() bool { return b.known.Range.Default > 0 }

// accepts reports whether the job accepts a size, as far as it has declared that.
func (b *batchState) accepts(size int) bool {
	return !b.declared() || (size >= b.known.Range.Min && size <= b.known.Range.Max)
}

// efficiency is the value of a sample at a size; 0 if unknown.
func (b *batchState) efficiency(size int) float64 {
	if !b.declared() || !b.known.Noise.Known() {
		return 0
	}
	return b.known.Efficiency(size)
}

// resume continues with what an earlier coordinator has published.
func (b *batchState) resume(published *goodput.State) {
	if published != nil && !b.declared() {
		b.known = *published
	}
}

// observeBatch adds the interval that ends now to what is known about the job's batch size, if the size was the same all the time.
func (n *Node) observeBatch(j *job, o trial.Observation) {
	same := o.Batch > 0 && o.Batch == j.batch.last
	j.batch.last = o.Batch
	if !same || !o.Reported || o.Restarted || !j.batch.declared() || j.settings.pending(j.sentConfig) {
		return
	}
	step := n.stepOf(j) * growth.Seconds(j.rates.fullStep(o.Batch))
	j.batch.known = j.batch.known.Observe(o.Batch, step, n.batchMemory(j))
}

// fullStep is by how much a step would be longer if all steps had the samples of a full batch. The last batch of an epoch often has fewer: with a large
// size, that is a large part of the samples. It is 1 for a job that counts samples in another way.
func (r rates) fullStep(batch int) float64 {
	const most = 2
	if full := float64(batch) / r.perStep; full >= 1 && full <= most {
		return full
	}
	return 1
}

// stepOf returns the time of a step. Of jobs that share the CPU it is their CPU time, which does not depend on the share.
func (n *Node) stepOf(j *job) growth.Seconds {
	if n.dividesGPUs() || !j.tunable() || j.used <= 0 {
		return j.rates.step
	}
	return j.rates.step * growth.Seconds(j.used) / growth.Seconds(growth.Core)
}

// batchSample returns what the tuner needs for advice on the batch size, or nil for a job that does not take part.
func (j *job) batchSample() *goodput.State {
	if !j.batch.declared() || !j.spec.Allows(gpushare.TuneBatchSize) {
		return nil
	}
	s := j.batch.known
	s.MemoryLimit = j.spec.Memory
	s.Processes = several(j.settings.worldSize())
	s.Trying = j.trial.Phase == trial.Trying || j.trial.Phase == trial.RollingBack
	s.RejectedFrom, s.RejectedUpTo = j.trial.RejectedFrom, j.trial.RejectedUpTo
	return &s
}
