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
	case wire.Describe:
		return node.JobDescribed{Slot: slot, Describe: m}
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
	e.Result, e.Err, e.Quota = outcome(r)
	l.post(func() { l.step(e) })
}

// MemoryResized receives the result of a change of a memory request.
func (l *Loop) MemoryResized(r node.MemoryResize, err error) {
	e := node.MemoryResized{Resize: r}
	e.Result, e.Err, e.Quota = outcome(enforce.Result{Err: err})
	l.post(func() { l.step(e) })
}

// outcome is the result of a resize, the text of its error, and the quota that forbids it.
func outcome(r enforce.Result) (result node.ResizeResult, text, quota string) {
	if r.Err == nil {
		return node.ResizeAccepted, "", ""
	}
	text = r.Err.Error()
	quota, overQuota := r.Quota()
	switch {
	case r.Gone():
		return node.ResizeGone, text, ""
	case r.Conflict():
		return node.ResizeConflict, text, ""
	case overQuota:
		return node.ResizeOverQuota, text, quota
	case r.Rejected():
		return node.ResizeRejected, text, ""
	}
	return node.ResizeFailed, text, ""
}
