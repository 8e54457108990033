package loop

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func (l *Loop) socket(slot string, e socket.Event) {
	if f, ok := e.(socket.Faults); ok {
		l.metrics.Dropped.WithLabelValues("malformed").Add(float64(f.Malformed))
		l.metrics.Dropped.WithLabelValues("unknown").Add(float64(f.Unknown))
		l.metrics.Dropped.WithLabelValues("rate").Add(float64(f.Dropped))
	}
	j := l.jobs[l.owners[slot]]
	if j == nil {
		return
	}
	switch e := e.(type) {
	case socket.Received:
		l.received(j, e.Message)
	case socket.Delivered:
		j.sent = max(j.sent, l.advised(j, e.Generation))
	case socket.Faults:
		l.faulty(j, e)
	}
}

func (l *Loop) received(j *job, message wire.Message) {
	switch m := message.(type) {
	case wire.Progress:
		asked := j.running.Loaders != nil
		l.report(j, m, gpushare.FromSocket)
		if !asked && j.running.Loaders != nil {
			l.ports.Records.Hurry(l.sample(j)) // its workers may be more than there are cores for, and a short job is over soon
		}
	case wire.Ack:
		l.acked(j, m)
	case wire.Saved:
		l.log.Debug("a job has saved a checkpoint", "job", j.pod.Ref.String(), "step", m.Step)
	}
}

// report takes in progress. Whatever its source, it says how fast the job is; the metric counts only from the source
// that the user named.
func (l *Loop) report(j *job, p wire.Progress, from gpushare.Source) {
	l.metrics.Reports.Inc()
	j.window.add(p)
	if p.Loaders != nil {
		j.running.Loaders = p.Loaders
	}
	if p.BatchSize != nil {
		j.running.BatchSize = p.BatchSize
	}
	if from != j.wish.Progress.Source {
		return
	}
	p.TotalSteps = cmp.Or(p.TotalSteps, j.latest.TotalSteps)
	j.latest = p
	j.odometer.note(p)
	value, ok := p.Metrics[j.wish.Metric]
	if !ok {
		if len(p.Metrics) > 0 && !j.reported {
			names := slices.Sorted(maps.Keys(p.Metrics))
			l.tell(j, always, true, "MetricMissing", fmt.Sprintf("The job reports %s but not %q, which %s names: its growth is not known",
				strings.Join(names, ", "), j.wish.Metric, gpushare.MetricAnnotation))
		}
		return
	}
	restarted, err := j.tracker.Report(j.odometer.steps, value)
	if err != nil {
		l.metrics.Dropped.WithLabelValues("not-finite").Inc()
		return
	}
	if restarted {
		l.begunAgain(j, "its step went backwards")
	}
	j.window.measure(value)
	j.curve.Add(float64(j.odometer.steps), value)
	first := !j.reported
	j.value, j.reported = value, true
	if first {
		l.publishJob(j)
	}
}

// begunAgain gives a job that has restarted the weight of one that is new.
func (l *Loop) begunAgain(j *job, why string) {
	j.weight, j.arrived, j.restarted = 1, time.Now(), true
	j.curve.Reset()
	l.log.Info("a job has restarted", "job", j.pod.Ref.String(), "reason", why)
}

func (l *Loop) faulty(j *job, f socket.Faults) {
	switch {
	case f.Closed:
		l.tell(j, time.Minute, true, "BadLines", fmt.Sprintf("The job's connection was closed: too many lines that are no message, the last because of: %v", f.Last))
	case f.Malformed > 0:
		l.tell(j, time.Minute, true, "BadLines", fmt.Sprintf("The job sent %d lines that are no message, the last because of: %v", f.Malformed, f.Last))
	case f.Dropped > 0:
		l.tell(j, time.Minute, true, "TooManyLines", fmt.Sprintf("The job reports too often: %d lines were dropped", f.Dropped))
	}
}
