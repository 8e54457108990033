package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/trial"
)

// observation returns what the job reported in the interval that ends now.
func (j *job) observation(now time.Time) trial.Observation {
	o := trial.Observation{
		Reported:  j.window.reports > 0,
		Value:     j.window.value,
		HasValue:  j.window.values > 0,
		Share:     j.share,
		Loaders:   -1,
		Restarted: j.restarted,
	}
	j.restarted = false
	if elapsed := now.Sub(j.window.since).Seconds(); elapsed > 0 {
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

// tryBatchSize advances the job's trial, if its user permits tuning of the batch size.
func (n *Node) tryBatchSize(j *job, o trial.Observation) {
	if !j.spec.Allows(gpushare.TuneBatchSize) {
		return
	}
	advised, why := 0, ""
	if a, ok := n.advice[j.pod.Ref.UID]; ok && a.BatchSize != nil && j.batch.accepts(*a.BatchSize) {
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
