package node

import (
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/save"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// saveTime is the time that a job has to save when its user asks for it.
const saveTime = 10 * time.Minute

// saving is what is known about a job's checkpoints.
type saving struct {
	last *bus.Checkpoint
	// announced is the last checkpoint that an event has named.
	announced *bus.Checkpoint
	request   *save.Request // open; nil if there is none
	handled   string        // the user's last request
	waits     time.Time     // since when requests wait for the job to connect; zero if none does
	answer    string        // what was written for the last request
	// answered is the last request on this pod that has been answered.
	answered string
	atEnd    bool   // a request was made because the pod is being deleted
	invalid  string // the value that an event has named
	number   int64  // of the last request
	// signalled is the number of the last request that a signal was sent for, and step the last reported step then.
	signalled, step int64
	began           time.Time // when it was made
}

// needsStop reports whether the ranks of the job must stop after the same step for the open request.
func (s *saving) needsStop(h *halt.Job) bool { return s.request != nil && h.Several() }

// followSave makes the requests that are due, and follows the open one.
func (n *Node) followSave(of *job) {
	j := of.identity()
	for _, pod := range n.podsOf(j) {
		n.askedByUser(j, pod)
	}
	n.askedElsewhere(j)
	n.followRequest(j)
	n.say(j)
}

// followRequest follows the open request.
func (n *Node) followRequest(j *job) {
	s := &j.save
	if s.request == nil {
		return
	}
	if j.savesBySignal() {
		n.followSignal(j)
		return
	}
	if n.spansNodes(j) {
		n.saveTogether(j)
		return
	}
	h := &j.pause.halt
	if o, done := s.request.Outcome(n.now, h.Processes()); done {
		n.endSave(j, o)
		n.leaveDeleted(j)
		return
	}
	if h.Several() && !h.Stopped() && !n.ignoresStops(h) {
		n.orderStop(j, n.podsOf(j), true)
		return
	}
	n.sendSaves(j)
}

// ignoresStops reports whether the job has shims of the previous release, which know neither stops nor ranks.
func (n *Node) ignoresStops(h *halt.Job) bool {
	return h.WorldSize() <= 1 && !h.Obeys() && !h.Since().IsZero() && n.now.Sub(h.Since()) >= obeyTime
}

// sendSaves sends the open request to the job's processes on this node.
func (n *Node) sendSaves(j *job) {
	s := &j.save
	left := s.request.Deadline.Sub(n.now)
	for _, pod := range n.podsOf(j) {
		for _, slot := range n.Slots(pod.pod.Ref.UID) {
			n.out.Saves = append(n.out.Saves, SlotSave{Slot: slot, Save: wire.Save{
				Reason:          s.reason(),
				DeadlineSeconds: growth.Seconds(max(left.Seconds(), 0.001)),
				Request:         s.request.Number,
			}})
		}
	}
}

// reason is what the job reads.
func (s *saving) reason() string {
	if !byUser(s.request.Name) {
		return "the pod is being deleted"
	}
	return "the user asks for it"
}

// endName begins the name of a request that the nodes of a job make because one of its pods is being deleted. No user can write
// such a name.
const endName = ".end-"

func byUser(request string) bool { return request != "" && !strings.HasPrefix(request, endName) }

// askedByUser follows gpushare/save. The answer of an earlier coordinator is in gpushare/saved.
func (n *Node) askedByUser(j, pod *job) {
	s := &j.save
	name := pod.pod.Annotations[gpushare.SaveAnnotation]
	answered, _, _ := strings.Cut(pod.pod.Annotations[gpushare.SavedAnnotation], " ")
	if name != "" && name == s.handled && name != answered {
		n.answerSave(j, pod)
	}
	if name == "" || name == s.handled || name == answered || s.request != nil {
		return
	}
	if err := gpushare.CheckSave(name); err != nil {
		if s.invalid != name {
			s.invalid = name
			n.podEvent(pod.pod.Ref, true, "BadAnnotation", err.Error()+". Nothing was saved")
		}
		return
	}
	if n.awaitsShim(j) {
		return
	}
	s.handled = name
	n.beginSave(j, name, n.now.Add(saveTime))
}

// awaitsShim reports whether a request waits, because the shim of the job is not connected and may be soon: the coordinator has just started, or
// the job.
func (n *Node) awaitsShim(j *job) bool {
	s := &j.save
	if j.pause.halt.Connected() || j.savesBySignal() || j.spec.Checkpoint == gpushare.CheckpointNone ||
		j.leader().spec.Progress.Source != gpushare.FromSocket {
		return false
	}
	if s.waits.IsZero() {
		s.waits = n.now
	}
	return n.now.Sub(s.waits) < obeyTime
}

// beginSave asks the job to save.
func (n *Node) beginSave(j *job, name string, deadline time.Time) {
	s := &j.save
	s.number = max(s.number+1, n.now.UnixMilli())
	s.request = &save.Request{Number: s.number, Name: name, Deadline: deadline, Step: j.pause.halt.Step()}
	s.began, s.waits = n.now, time.Time{}
	why := ""
	switch h := &j.pause.halt; {
	case j.spec.Checkpoint == gpushare.CheckpointNone:
		why = gpushare.CheckpointAnnotation + " is \"none\""
	case j.savesBySignal():
		why = n.cannotSignal(j)
	case !h.Connected():
		why = "it is not connected through the shim: register a function with gpushare.on_save(), and call gpushare.step()"
	case h.Incomplete() && !n.spansNodes(j):
		why = "some of its ranks are not connected, or run elsewhere in pods that are not known to be of this job (" + gpushare.GangAnnotation + "), and all " +
			"ranks save after the same step or none does"
	}
	if why != "" {
		n.endSave(j, save.Outcome{Reason: why})
	}
}
