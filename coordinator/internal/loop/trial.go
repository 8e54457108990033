package loop

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/trial"
)

// look is what the interval that ends now has shown of a job.
func (j *job) look(now time.Time) trial.Observation {
	look := trial.Observation{
		Reported: j.window.reports > 0, Value: j.window.value, HasValue: j.window.values > 0, Share: j.share, Loaders: -1, Restarted: j.restarted,
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

// try takes what is tried of batch sizes a look further, as far as the job's user allows it.
func (l *Loop) try(j *job, look trial.Observation) {
	if !j.wish.Allows(gpushare.TuneBatchSize) {
		return
	}
	advised := 0
	if a, ok := l.advice.Values[bus.AdviceKey(j.pod.Ref.UID)]; ok && a.BatchSize != nil {
		advised = *a.BatchSize
	}
	next, verdict, reason := j.trial.Next(look, advised, j.wish.Direction)
	j.trial = next
	if verdict == trial.None {
		return
	}
	l.log.Info("a batch size on trial", "job", j.pod.Ref.String(), "verdict", verdict, "reason", reason)
	switch verdict {
	case trial.Kept:
		l.tell(j, time.Second, false, "BatchSizeKept", "On trial: "+reason)
	case trial.RolledBack:
		l.tell(j, time.Second, true, "BatchSizeRolledBack", "On trial: "+reason)
	}
	l.again(j)
	l.publishJob(j)
}

// resumeTrial takes up what an earlier coordinator has tried. The job still has what it was told last, and is told again.
func (l *Loop) resumeTrial(j *job, tried *trial.State) {
	if tried != nil && j.wish.Allows(gpushare.TuneBatchSize) {
		j.trial = *tried
		j.turn++
	}
}
