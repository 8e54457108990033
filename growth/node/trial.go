package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/trial"
)

// observation returns what the job reported in the interval that ends now.
func (n *Node) observation(j *job) trial.Observation {
	o := trial.Observation{
		Reported:  j.window.reports > 0,
		Value:     j.window.value,
		HasValue:  j.window.values > 0,
		Share:     n.limitingShare(j),
		Loaders:   -1,
		Restarted: j.restarted,
		Paused:    j.isPaused(),
	}
	j.restarted = false
	if elapsed := n.now.Sub(j.window.since).Seconds(); elapsed > 0 {
		o.Samples = growth.PerSecond(j.window.samples / elapsed)
	}
	if j.running.BatchSize != nil {
		o.Batch = *j.running.BatchSize
		o.Efficiency = j.batch.efficiency(o.Batch)
	}
	if j.running.Loaders != nil {
		o.Loaders = *j.running.Loaders
	}
	return o
}

// limitingShare returns the job's share of the resource that limits it: the time of its GPUs where that is divided, else the CPU.
func (n *Node) limitingShare(j *job) growth.Share {
	if !n.dividesGPUs() {
		return j.share
	}
	return j.identity().gpu.part
}

// tryBatchSize advances the job's trial. It begins none if the job's user does not permit tuning of the batch size, or no longer.
func (n *Node) tryBatchSize(j *job, o trial.Observation) {
	permitted := j.spec.Allows(gpushare.TuneBatchSize)
	if !permitted && j.trial.Phase == trial.Idle {
		return
	}
	advised, why := 0, ""
	if a, ok := n.advice[j.pod.Ref.UID]; ok && permitted && a.BatchSize != nil && j.batch.accepts(*a.BatchSize) {
		advised, why = *a.BatchSize, a.BatchReason
	}
	next, verdict, reason := j.trial.Next(o, advised, j.spec.Direction)
	j.trial = next
	if verdict == trial.None {
		return
	}
	n.log(Info, "batch size on trial", "job", j.pod.Ref, "verdict", verdict, "reason", reason)
	switch verdict {
	case trial.Offering:
		if why != "" {
			reason += ": " + why
		}
		n.event(j, time.Second, false, "BatchSizeTried", "On trial: "+reason)
	case trial.Kept:
		n.event(j, time.Second, false, "BatchSizeKept", "On trial: "+reason)
	case trial.RolledBack:
		n.event(j, time.Second, true, "BatchSizeRolledBack", "On trial: "+reason)
	}
	j.attempt = (j.attempt + 1) % configsPerAdvice
	n.deliver(j)
	n.publish(j, false)
}

// resumeTrial continues a trial of an earlier coordinator. It advances the count of configs, so the job accepts the
// config that it is sent again.
func (n *Node) resumeTrial(j *job, tried *trial.State) {
	if tried != nil && j.spec.Allows(gpushare.TuneBatchSize) {
		j.trial = *tried
		j.attempt++
	}
}
