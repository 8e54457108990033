package loop

import (
	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Socket receives an event of a slot's socket.
func (l *Loop) Socket(slot string, e socket.Event) {
	switch e := e.(type) {
	case socket.Reported:
		reports := node.ProcessReported{Slot: slot, Connection: e.Connection, Reports: e.Reports}
		l.post(func() { l.step(reports) })
	case socket.Received:
		if event := message(slot, e.Connection, e.Message); event != nil {
			l.post(func() { l.step(event) })
		}
	case socket.Disconnected:
		l.post(func() { l.step(node.ProcessLeft{Slot: slot, Connection: e.Connection}) })
	case socket.Delivered:
		l.post(func() { l.step(node.ConfigSent{Slot: slot, Generation: e.Generation}) })
	case socket.Faults:
		l.post(func() { l.rejected(slot, e) })
	}
}

// message returns the event of a job's message, or nil.
func message(slot string, connection int64, m wire.Message) node.Event {
	switch m := m.(type) {
	case wire.Ack:
		return node.ConfigAcked{Slot: slot, Connection: connection, Ack: m}
	case wire.Stopped:
		return node.ProcessStopped{Slot: slot, Connection: connection, Stopped: m}
	case wire.Saved:
		return node.CheckpointSaved{Slot: slot, Connection: connection, Saved: m}
	case wire.Failed:
		return node.CheckpointFailed{Slot: slot, Connection: connection, Failed: m}
	}
	return nil
}

func (l *Loop) rejected(slot string, f socket.Faults) {
	l.metrics.Dropped.WithLabelValues("malformed").Add(float64(f.Malformed))
	l.metrics.Dropped.WithLabelValues("unknown").Add(float64(f.Unknown))
	l.metrics.Dropped.WithLabelValues("rate").Add(float64(f.Dropped))
	e := node.LinesRejected{
		Slot:      slot,
		Malformed: f.Malformed,
		Unknown:   f.Unknown,
		Dropped:   f.Dropped,
		Closed:    f.Closed,
	}
	if f.Last != nil {
		e.Err = f.Last.Error()
	}
	l.step(e)
}

// Resized receives the result of a resize.
func (l *Loop) Resized(r enforce.Result) {
	e := node.ResizeFinished{Resize: r.Resize, Weight: r.Weight, Verified: r.Verified}
	if r.Err != nil {
		e.Err = r.Err.Error()
		e.Result = node.ResizeFailed
	}
	quota, overQuota := r.Quota()
	switch {
	case r.Gone():
		e.Result = node.ResizeGone
	case r.Conflict():
		e.Result = node.ResizeConflict
	case overQuota:
		e.Result = node.ResizeOverQuota
		e.Quota = quota
	case r.Rejected():
		e.Result = node.ResizeRejected
	}
	l.post(func() { l.step(e) })
}
