package loop

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/growth/node"
)

// execute executes the effects of a step, in the order of the fields of node.Effects.
func (l *Loop) execute(e node.Effects) {
	for _, entry := range e.Log {
		l.write(entry)
	}
	l.count(e.Counts)
	opened := l.sockets(e)
	if e.Turns != nil && l.ports.Turns != nil {
		l.ports.Turns.Plan(*e.Turns)
	}
	for _, s := range e.SignalSaves {
		l.saveBySignal(s)
	}
	for _, f := range e.Freezes {
		l.freeze(f)
	}
	for _, pod := range e.Unfollow {
		l.unfollow(pod)
	}
	for _, f := range e.Follow {
		l.follow(f)
	}
	if e.Resizes != nil {
		l.ports.Enforcer.Enforce(e.Resizes)
	}
	for _, r := range e.MemoryResizes {
		if l.ports.MemoryRequests != nil {
			l.ports.MemoryRequests.EnforceMemory(r)
		}
	}
	for _, event := range e.Events {
		l.ports.Pods.Event(event.Pod, event.Warning, event.Reason, event.Message)
	}
	for _, a := range e.Annotations {
		l.ports.Pods.Annotate(a.Pod, a.Name, a.Value)
	}
	l.publish(e)
	l.schedule(e.Wake)
	if len(opened) > 0 {
		l.step(node.SlotsOpened{Slots: opened})
	}
}

// sockets closes and opens slots, and sends configs, duties, stops and requests to save to them. It returns the slots that are open.
func (l *Loop) sockets(e node.Effects) (opened []string) {
	for _, slot := range e.Close {
		l.ports.Sockets.Close(slot)
		if l.ports.Turns != nil {
			l.ports.Turns.Close(slot)
		}
	}
	opened = l.open(e)
	for _, c := range e.Configs {
		if err := l.ports.Sockets.Send(c.Slot, c.Config); err != nil {
			l.log.Warn("a config could not be sent", "slot", c.Slot, "err", err)
		}
	}
	for _, d := range e.Duties {
		if err := l.ports.Sockets.SendDuty(d.Slot, d.Duty); err != nil {
			l.log.Warn("a duty could not be sent", "slot", d.Slot, "err", err)
		}
	}
	for _, s := range e.Stops {
		if err := l.ports.Sockets.SendStop(s.Slot, s.Stop); err != nil {
			l.log.Warn("a stop could not be sent", "slot", s.Slot, "err", err)
		}
	}
	for _, s := range e.Saves {
		if err := l.ports.Sockets.SendSave(s.Slot, s.Save); err != nil {
			l.log.Warn("a request to save could not be sent", "slot", s.Slot, "err", err)
		}
	}
	return opened
}

// open opens slots, and returns those that are open.
func (l *Loop) open(e node.Effects) (opened []string) {
	for _, slot := range e.Open {
		if last := e.Leaving[slot]; last != "" && l.ports.Usages.Populated(last, time.Now()) {
			l.log.Debug("a slot opens once its last pod has no processes", "slot", slot, "uid", last)
			continue
		}
		if err := l.ports.Sockets.Open(l.ctx, slot); err != nil {
			l.log.Debug("a slot is not open yet", "slot", slot, "err", err)
			continue
		}
		if l.ports.Turns != nil {
			if err := l.ports.Turns.Open(l.ctx, slot); err != nil {
				l.log.Debug("the turn socket of a slot is not open yet", "slot", slot, "err", err)
			}
		}
		opened = append(opened, slot)
	}
	return opened
}

func (l *Loop) publish(e node.Effects) {
	for _, due := range e.Samples {
		s, ok, err := l.node.Sample(due.Pod)
		if err != nil {
			l.log.Error("a sample cannot be written", "uid", due.Pod, "err", err)
		}
		if ok {
			l.ports.Records.Sample(s, due.Urgent)
		}
	}
	for _, pod := range e.Forget {
		l.ports.Records.Forget(pod)
		if stop := l.recalls[pod]; stop != nil {
			stop()
			delete(l.recalls, pod)
		}
	}
	for _, g := range e.Gangs {
		l.ports.Records.Gang(g)
	}
	if e.Load != nil {
		l.ports.Records.Load(*e.Load)
	}
	if e.Speeds != nil {
		l.ports.Records.Speeds(*e.Speeds)
	}
	if e.Newcomers != nil && l.ports.Newcomers != nil {
		l.ports.Newcomers.Write(e.Newcomers)
	}
	for _, p := range e.Learned {
		l.ports.Records.Runs(p)
	}
	for _, of := range e.Recall {
		l.recall(of)
	}
	if e.Persist {
		m, err := l.node.Memory()
		if err != nil {
			l.log.Error("the memory of the node cannot be written", "err", err)
			return
		}
		l.ports.Memory.Save(m)
	}
}

// schedule sets the timer to the node's wake-up time.
func (l *Loop) schedule(wake time.Time) {
	if wake.IsZero() || wake.Equal(l.wake) {
		return
	}
	l.wake = wake
	l.timer.Reset(time.Until(wake))
}

func (l *Loop) count(c node.Counts) {
	l.metrics.Reports.Add(float64(c.Reports))
	if c.NotFinite > 0 {
		l.metrics.Dropped.WithLabelValues("not-finite").Add(float64(c.NotFinite))
	}
	if c.BadAcks > 0 {
		l.metrics.Dropped.WithLabelValues("malformed").Add(float64(c.BadAcks))
	}
	for _, result := range c.Trials {
		l.metrics.Trials.WithLabelValues(result).Inc()
	}
	l.metrics.TrialLoss.Add(float64(c.TrialLoss))
	for _, result := range c.Resizes {
		l.metrics.Resizes.WithLabelValues(result).Inc()
	}
}

// write writes an entry to the log. Values with a String method appear as that.
func (l *Loop) write(entry node.LogEntry) {
	level := slog.LevelInfo
	switch entry.Level {
	case node.Debug:
		level = slog.LevelDebug
	case node.Warn:
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !l.log.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(time.Now(), level, entry.Message, 0)
	for i := 0; i+1 < len(entry.Fields); i += 2 {
		value := entry.Fields[i+1]
		if text, ok := value.(fmt.Stringer); ok {
			value = text.String()
		}
		record.Add(entry.Fields[i], value)
	}
	_ = l.log.Handler().Handle(ctx, record) // as the logger's own methods do
}
