package node

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/save"
	"github.com/trellis-gpu/trellis/growth/wire"
)

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

func savedText(step int64, path, sha256 string, request save.Request) string {
	return fmt.Sprintf("The job saved a checkpoint of step %d in %s, because %s. Its SHA-256 is %s", step, path, because(request), sha256)
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
