package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/trial"
)

// look returns the observation of a job in the interval that ends now.
func (j *job) look(now time.Time) trial.Observation {
	look := trial.Observation{
		Reported:  j.window.reports > 0,
		Value:     j.window.value,
		HasValue:  j.window.values > 0,
		Share:     j.share,
		Loaders:   -1,
		Restarted: j.restarted,
	}
	j.restarted = false
	if elapsed := now.Sub(j.window.since).Seconds(); elapsed > 0 {
		look.Samples = growth.PerSecond(j.window.samples / elapsed)
	}
	if j.running.BatchSize != nil {
		look.Batch = *j.running.BatchSize
	}
	if j.running.Loaders != nil {
		look.Loaders = *j.running.Loaders
	}
	return look
}

// tryBatchSize advances the trial of a batch size, if the user permits it.
func (n *Node) tryBatchSize(j *job, look trial.Observation) {
	if !j.spec.Allows(gpushare.TuneBatchSize) {
		return
	}
	advised := 0
	if a, ok := n.advice[j.pod.Ref.UID]; ok && a.BatchSize != nil {
		advised = *a.BatchSize
	}
	next, verdict, reason := j.trial.Next(look, advised, j.spec.Direction)
	j.trial = next
	if verdict == trial.None {
		return
	}
	n.log(Info, "batch size on trial", "job", j.pod.Ref, "verdict", verdict, "reason", reason)
	switch verdict {
	case trial.Kept:
		n.event(j, time.Second, false, "BatchSizeKept", "On trial: "+reason)
	case trial.RolledBack:
		n.event(j, time.Second, true, "BatchSizeRolledBack", "On trial: "+reason)
	}
	j.attempt = (j.attempt + 1) % attempts
	n.deliver(j)
	n.publish(j, false)
}

// resumeTrial continues a trial of an earlier coordinator. The job still runs with the last config, which is sent
// again.
func (n *Node) resumeTrial(j *job, tried *trial.State) {
	if tried != nil && j.spec.Allows(gpushare.TuneBatchSize) {
		j.trial = *tried
		j.attempt++
	}
}
