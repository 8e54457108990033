package node

import (
	"path"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/save"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// answerMargin is the part of the time for a save that is kept for the caller's answer, which has a better reason than "late".
const answerMargin = 500 * time.Millisecond

// savesBySignal reports whether the job saves when it receives a signal.
func (j *job) savesBySignal() bool { return j.spec.Checkpoint == gpushare.CheckpointSignal }

// cannotSignal returns why such a job is not asked to save, or "".
func (n *Node) cannotSignal(j *job) string {
	switch {
	case len(n.podsOf(j)) > 1 || j.pause.halt.WorldSize() > 1 || j.spanning() != "":
		return "it has several ranks, and a signal does not let them save after the same step: register a function with gpushare.on_save() instead"
	case j.pod.Trainer().ID == "":
		return "its container does not run"
	case j.pod.volumeOf(j.spec.Signal.Path) == "":
		return j.spec.Signal.Path + " is on no volume, and would be lost with the container: mount a volume there"
	}
	return ""
}

// volumeOf returns the folder at which the volume of a path is mounted; empty if the path is on none.
func (p Pod) volumeOf(file string) string {
	longest := ""
	for _, folder := range p.Volumes {
		folder = path.Clean(folder)
		if strings.HasPrefix(file, folder+"/") && len(folder) > len(longest) {
			longest = folder
		}
	}
	return longest
}

// savesFirst reports whether the job runs although it should pause, because it has to save: its handler of the signal may wait for
// the end of the step. Once it is being deleted there is nothing to pause.
func (j *job) savesFirst() bool {
	return j.savesBySignal() && (j.save.request != nil || !j.pod.Deadline.IsZero())
}

// followSignal follows the open request to a job that saves by a signal.
func (n *Node) followSignal(j *job) {
	s := &j.save
	o, done := s.request.Outcome(n.now, []halt.Process{{}})
	frozen := j.pause.frozen.Is(j.pod.Trainer().ID)
	switch {
	case done:
		n.endSave(j, o)
		n.leaveDeleted(j)
	case !frozen && s.signalled != s.request.Number:
		s.signalled, s.step = s.request.Number, j.leader().writtenStep()
		n.out.SignalSaves = append(n.out.SignalSaves, SignalSave{
			Pod:       j.pod.Ref,
			Container: j.pod.Trainer().ID,
			Signal:    j.spec.Signal,
			Volume:    j.pod.volumeOf(j.spec.Signal.Path),
			Request:   s.request.Number,
			Deadline:  s.request.Deadline.Add(-answerMargin),
		})
	}
}

// writtenStep returns the last step that the job has reported; 0 if it writes no steps and its reports are counted, because where the
// job continues, they may be counted from 0 again.
func (j *job) writtenStep() int64 {
	if j.lifetime.counted {
		return 0
	}
	return j.latest.Step
}

func (e SignalAnswered) apply(n *Node) {
	of := n.jobs[e.Pod]
	if of == nil {
		return
	}
	j := of.identity()
	s := &j.save
	if s.request == nil || s.request.Number != e.Request {
		return // it was given up
	}
	if e.Ended {
		n.endSave(j, save.Outcome{Reason: e.Err})
		n.leaveDeleted(j)
		return
	}
	if e.Err != "" {
		s.request.Failed(halt.Process{}, wire.Failed{Request: e.Request, Reason: e.Err})
		n.followSave(j)
		return
	}
	saved := wire.Saved{Request: e.Request, Path: j.spec.Signal.Path, SHA256: e.SHA256, Step: s.step}
	s.last = &bus.Checkpoint{Path: saved.Path, SHA256: saved.SHA256, Step: saved.Step, At: n.now}
	s.request.Saved(halt.Process{}, saved)
	n.publish(j, true)
	n.followSave(j)
}

// SignalSave lets a job save by a signal.
type SignalSave struct {
	Pod       growth.PodRef
	Container string // ID of the container
	Signal    gpushare.SaveSignal
	// Volume is the folder in the container at which the volume of Signal.Path is mounted.
	Volume string
	// Request identifies the answer (SignalAnswered), which is due at the Deadline.
	Request  int64
	Deadline time.Time
}
