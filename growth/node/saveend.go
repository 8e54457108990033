package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/save"
)

const (
	// killMargin is the part of a deleted pod's grace period that is kept for the answer: sockets are read once a second.
	killMargin = 1500 * time.Millisecond
	// oldCheckpoint is the age up to which a checkpoint that a job has saved by itself answers the request at its end.
	oldCheckpoint = 5 * time.Second
)

// savesAtEnd reports whether a job whose pod is being deleted has not saved yet, but may. It asks the job once.
func (n *Node) savesAtEnd(of *job, pod Pod) bool {
	j := of.identity()
	s := &j.save
	switch {
	case pod.Deadline.IsZero():
		return false
	case s.atEnd:
		return s.request != nil
	case pod.Ended():
		n.announceOwnSave(j)
		return false
	}
	s.atEnd = true
	reached := j.savesBySignal() || j.pause.halt.Connected()
	if j.spec.Checkpoint == gpushare.CheckpointNone || !reached || j.hasSavedAll() {
		n.announceOwnSave(j)
		return false
	}
	left := pod.Deadline.Sub(n.now)
	if left <= killMargin {
		if !n.announceOwnSave(j) {
			n.event(j, 0, true, "SaveFailed", fmt.Sprintf("The pod is being deleted, and %s: %s. Set terminationGracePeriodSeconds to the "+
				"time that a checkpoint takes, and some seconds more", noTime(left), j.save.lastText()))
		}
		return false
	}
	s.request = nil // the present one takes its place
	name := ""
	if n.spansNodes(j) && !j.savesBySignal() {
		name = fmt.Sprintf("%s%d", endName, n.now.UnixMilli())
		s.handled = name
	}
	n.beginSave(j, name, pod.Deadline.Add(-killMargin))
	return s.request != nil
}

// noTime says why a deleted job cannot save in what is left of its grace period. The node may learn of the deletion after its end.
func noTime(left time.Duration) string {
	if left < time.Second {
		return "its grace period was over before the job could save"
	}
	return fmt.Sprintf("its grace period of %s leaves no time to save", left.Round(time.Second))
}

// announceOwnSave announces a checkpoint that a deleted job has just saved by its own handler of SIGTERM, before the node knew that the
// pod is being deleted. It reports whether there is one.
func (n *Node) announceOwnSave(j *job) bool {
	s := &j.save
	if s.last == nil || s.last == s.announced || n.now.Sub(s.last.At) > oldCheckpoint {
		return false
	}
	s.announced = s.last
	n.event(j, 0, false, "Saved", savedText(s.last.Step, s.last.Path, s.last.SHA256, save.Request{}))
	return true
}

// hasSavedAll reports whether the job waits after the step that it has saved, as one that is moved does. One that is frozen has
// saved just before.
func (j *job) hasSavedAll() bool {
	s, p := &j.save, &j.pause
	if s.request != nil || s.last == nil || p.level != stopped {
		return false
	}
	if p.frozen.Is(j.pod.Trainer().ID) {
		return !s.last.At.Before(p.asked)
	}
	return s.last.Step == p.halt.Step()
}

// leaveDeleted removes the pods of a job that were kept until it had saved.
func (n *Node) leaveDeleted(j *job) {
	if !j.save.atEnd {
		return
	}
	for _, pod := range n.podsOf(j) {
		if !pod.pod.Deadline.IsZero() {
			n.leave(pod)
		}
	}
}
