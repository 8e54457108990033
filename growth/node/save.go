package node

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/save"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const (
	// saveTime is the time that a job has to save when its user asks for it.
	saveTime = 10 * time.Minute
	// killMargin is the part of a deleted pod's grace period that is kept for the answer: sockets are read once a second.
	killMargin = 1500 * time.Millisecond
	// oldCheckpoint is the age up to which a checkpoint that a job has saved by itself answers the request at its end.
	oldCheckpoint = 5 * time.Second
)

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

func savedText(step int64, path, sha256 string, request save.Request) string {
	return fmt.Sprintf("The job saved a checkpoint of step %d in %s, because %s. Its SHA-256 is %s", step, path, because(request), sha256)
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

// endSave announces what came of a request.
func (n *Node) endSave(j *job, o save.Outcome) {
	s := &j.save
	request := *s.request
	s.request = nil
	if o.Saved == nil && s.atEnd && s.last != nil && n.now.Sub(s.last.At) <= oldCheckpoint { // by its handler of SIGTERM
		o.Saved = &wire.Saved{Path: s.last.Path, SHA256: s.last.SHA256, Step: s.last.Step}
	}
	s.answer = answer(request.Name, o)
	for _, pod := range n.podsOf(j) {
		n.answerSave(j, pod)
	}
	switch {
	case o.Saved != nil:
		s.announced = s.last
		n.event(j, 0, false, "Saved", savedText(o.Saved.Step, o.Saved.Path, o.Saved.SHA256, request))
	case byUser(request.Name) || o.Able:
		n.event(j, 0, true, "SaveFailed", fmt.Sprintf("The job has not saved, although %s: %s. %s",
			because(request), o.Reason, s.lastText()))
	default:
		n.log(Info, "a deleted job has not saved", "job", j.pod.Ref, "reason", o.Reason)
	}
	n.publish(j, true)
	n.followPause(j) // ranks that have stopped for it continue
}

// answer is the value of gpushare/saved.
func answer(request string, o save.Outcome) string {
	if o.Saved == nil {
		reason := strings.Join(strings.Fields(o.Reason), " ")
		return gpushare.Saved{Request: request, Failed: cmp.Or(reason, "it has nothing to save")}.String()
	}
	return gpushare.Saved{Request: request, Step: o.Saved.Step, SHA256: o.Saved.SHA256, Path: o.Saved.Path}.String()
}

// answerSave answers the request of one of the job's pods, once.
func (n *Node) answerSave(j, pod *job) {
	name := pod.pod.Annotations[gpushare.SaveAnnotation]
	if !byUser(name) || name == pod.save.answered || !strings.HasPrefix(j.save.answer, name+" ") {
		return
	}
	pod.save.answered = name
	n.annotate(pod.pod.Ref, gpushare.SavedAnnotation, j.save.answer)
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

func because(r save.Request) string {
	switch {
	case r.Name == "":
		return "its pod is being deleted"
	case !byUser(r.Name):
		return "a pod of the job is being deleted"
	}
	return "its user asked for it"
}

// lastText says what a resumed job can rely on.
func (s *saving) lastText() string {
	if s.last == nil {
		return "There is no earlier checkpoint that Trellis knows of"
	}
	return fmt.Sprintf("The last checkpoint, of step %d in %s, is as it was", s.last.Step, s.last.Path)
}

func (e CheckpointSaved) apply(n *Node) {
	of := n.jobOf(e.Slot)
	if of == nil {
		return
	}
	j := of.identity()
	n.log(Debug, "job saved a checkpoint", "job", j.pod.Ref, "step", e.Saved.Step)
	s := &j.save
	s.last = &bus.Checkpoint{Path: e.Saved.Path, SHA256: e.Saved.SHA256, Step: e.Saved.Step, At: n.now}
	n.publish(j, true)
	p := halt.Process{Slot: e.Slot, Connection: e.Connection}
	if s.request != nil && !j.savedByItself(p, e.Saved) {
		s.request.Saved(p, e.Saved)
		n.followSave(j)
	}
}

// savedByItself reports whether a process has saved without a request although one is open: its shim would have named it.
// A single process that ends by SIGTERM saves so too, and answers with that.
func (j *job) savedByItself(p halt.Process, m wire.Saved) bool {
	ends := !byUser(j.save.request.Name) && !j.pause.halt.Several()
	return m.Request == 0 && !ends && j.pause.halt.Answers(p)
}

func (e CheckpointFailed) apply(n *Node) {
	of := n.jobOf(e.Slot)
	if of == nil {
		return
	}
	j := of.identity()
	if s := &j.save; s.request != nil {
		s.request.Failed(halt.Process{Slot: e.Slot, Connection: e.Connection}, e.Failed)
		n.followSave(j)
	}
}
