package loop

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/trial"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// deliver sends a job the newest advice, as far as its user allows it, the batch size that it is to try or go back to, and
// its duty.
func (l *Loop) deliver(j *job) {
	config, any := l.wanted(j)
	if !any {
		return
	}
	if err := sayable(config); err != nil {
		l.log.Warn("advice that can not be followed", "job", j.pod.Ref.String(), "generation", config.Generation, "reason", err)
		return
	}
	for _, slot := range l.slots(j.pod.Ref.UID) {
		if err := l.ports.Sockets.Send(slot, config); err != nil {
			l.log.Warn("advice could not be sent", "job", j.pod.Ref.String(), "slot", slot, "reason", err)
		}
	}
}

// wanted is what a job should run with, and whether that is anything.
func (l *Loop) wanted(j *job) (config wire.Config, any bool) {
	advice, ok := l.advice.Values[bus.AdviceKey(j.pod.Ref.UID)]
	if ok {
		j.advice = advice
		if j.wish.Allows(gpushare.TuneLoaders) && !j.trial.InProgress() { // which would not know what came of what
			config.Loaders = advice.Loaders
		}
	}
	if size := j.trial.Requested; size > 0 {
		config.BatchSize = &size
	}
	config.Generation = l.generation(j)
	if duty := j.duty; duty > 0 {
		config.Duty = &duty
	}
	return config, config.Values != (wire.Values{}) || config.Duty != nil
}

// sayable tells whether the job's side would accept a config.
func sayable(config wire.Config) error {
	line, err := wire.Encode(config)
	if err == nil {
		_, err = wire.Decode(line)
	}
	return err
}

// acked notes what a job says it runs with.
func (l *Loop) acked(j *job, a wire.Ack) {
	a.Generation = l.advised(j, a.Generation)
	if a.Generation > max(j.sent, j.advice.Generation) {
		l.metrics.Dropped.WithLabelValues("malformed").Inc()
		l.log.Warn("a job acknowledges what it was never sent", "job", j.pod.Ref.String(), "generation", a.Generation)
		return
	}
	before := j.running
	j.applied = max(j.applied, a.Generation)
	j.sent = max(j.sent, a.Generation)
	if a.Applied.Loaders != nil {
		j.running.Loaders = a.Applied.Loaders
	}
	if a.Applied.BatchSize != nil {
		j.running.BatchSize = a.Applied.BatchSize
	}
	l.changed(j, "LoadersChanged", "Data-loader workers", before.Loaders, j.running.Loaders, j.advice.Reason)
	why := j.advice.Reason
	if j.trial.Phase == trial.RollingBack {
		why = "as before the trial"
	}
	l.changed(j, "BatchSizeChanged", "Batch size", before.BatchSize, j.running.BatchSize, why)
	l.publishJob(j)
}

func (l *Loop) changed(j *job, reason, what string, from, to *int, why string) {
	if to == nil || (from != nil && *from == *to) {
		return
	}
	was := "the job's own"
	if from != nil {
		was = fmt.Sprint(*from)
	}
	message := fmt.Sprintf("%s: %s → %d, acknowledged by the job", what, was, *to)
	if why != "" {
		message += " (" + why + ")"
	}
	l.tell(j, time.Second, false, reason, message)
	l.log.Info("a job has followed advice", "job", j.pod.Ref.String(), "what", what, "from", was, "to", *to, "generation", j.applied)
}
