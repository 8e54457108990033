package node

import (
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/halt"
)

// pause is what the user's annotation gpushare/paused has made of a job. The pods of a gang are paused together; the pod that
// identifies the job has the state.
type pause struct {
	halt     halt.Job
	frozen   halt.Frozen
	asked    time.Time // when the user paused the job; zero if it is not paused
	level    pauseLevel
	why      string    // why it is no more than that
	counted  time.Time // the time up to which lifetime.Paused is known
	repeated time.Time // when the order in force was last sent
	invalid  string    // the value that an event has named
}

// pauseLevel is what a paused job has released.
type pauseLevel int

const (
	// running: nothing. The job may be asked to stop.
	running pauseLevel = iota
	// withoutCPU: its processes run, with the least CPU request.
	withoutCPU
	// stopped: its processes wait between two steps, or are frozen.
	stopped
)

// published returns the level for a sample.
func (p *pause) published() bus.Pause {
	switch p.level {
	case withoutCPU:
		return bus.PauseCPU
	case stopped:
		return bus.PauseComplete
	}
	return ""
}

// resume continues a pause of an earlier coordinator, until the processes have connected again.
func (p *pause) resume(published bus.Pause) {
	switch published {
	case bus.PauseCPU:
		p.level = withoutCPU
	case bus.PauseComplete:
		p.level = stopped
	}
}

// halt returns the state of the job's processes.
func (j *job) halt() *halt.Job { return &j.identity().pause.halt }

// isPaused reports whether the job has released its CPU.
func (j *job) isPaused() bool { return j.identity().pause.level != running }

// leavesGPU reports whether the job does not compute, so that its part of the GPU's time goes to others.
func (j *job) leavesGPU() bool { return j.identity().pause.level == stopped }

// followPauses repeats the orders in force, and notices jobs that do not stop.
func (n *Node) followPauses() {
	n.stopsDue = time.Time{}
	for _, j := range n.sorted() {
		if j.identity() == j {
			n.followPause(j)
			n.followSave(j)
			if _, stop := j.pause.halt.Order(); stop {
				n.stopsDue = n.now.Add(latestStop)
			}
		}
	}
}

// followPause does what the annotations of a job's pods demand.
func (n *Node) followPause(of *job) {
	j := of.identity()
	pods := n.podsOf(j)
	wanted := n.wantsPause(pods) || n.pausedElsewhere(j)
	wanted = wanted && !j.savesFirst()
	p := &j.pause
	switch {
	case wanted && p.asked.IsZero():
		p.asked = n.now
		n.log(Info, "job is to pause", "job", j.pod.Ref)
	case !wanted:
		p.asked = time.Time{}
	}
	n.orderStop(j, pods, n.stops(j))
	n.orderFreeze(j, wanted)
	level, why := n.pauseLevel(j, wanted)
	n.setPause(j, pods, level, why)
	if p.level != running {
		if !p.counted.IsZero() {
			j.lifetime.Paused += growth.Seconds(max(0, n.now.Sub(p.counted).Seconds()))
		}
		p.counted = n.now
	}
	n.say(j)
}

// stops reports whether the processes of the job should wait.
func (n *Node) stops(j *job) bool { return !j.pause.asked.IsZero() || j.save.needsStop(&j.pause.halt) }

// pauseLevel returns what the job has released, and why not more.
func (n *Node) pauseLevel(j *job, wanted bool) (level pauseLevel, why string) {
	p := &j.pause
	waited := n.now.Sub(p.asked)
	switch {
	case !wanted:
		return running, ""
	case p.halt.Stopped():
		return stopped, ""
	case n.lacksShim(j):
		return n.levelWithoutShim(j)
	case p.halt.Incomplete() && waited >= obeyTime:
		return withoutCPU, "some of its ranks run elsewhere and do not answer, and all ranks stop after the same step or none does"
	case p.halt.Connected() && !p.halt.Obeys() && waited >= obeyTime:
		return withoutCPU, "its shim is of an earlier release, which does not know pauses"
	}
	return p.level, p.why // it makes its last steps
}

// setPause lets the pause take effect, or end.
func (n *Node) setPause(j *job, pods []*job, level pauseLevel, why string) {
	p := &j.pause
	if level == p.level && why == p.why {
		return
	}
	before := p.level
	p.level, p.why = level, why
	if before == running || p.counted.IsZero() {
		p.counted = n.now
	}
	if level == stopped {
		j.gpu.share, j.gpu.part = 0, 0
	}
	for _, pod := range pods {
		n.announcePause(pod, before)
		n.publish(pod, true)
	}
	n.interrupt("pause", true)
}

func (n *Node) announcePause(pod *job, before pauseLevel) {
	p := pod.identity().pause
	switch {
	case p.level == stopped && p.frozen.Is(pod.pod.Trainer().ID):
		n.event(pod, 0, false, "Paused", fmt.Sprintf("The processes of the job are frozen, because %s is \"true\": other jobs have its time of the GPU and "+
			"its CPU. It keeps its memory, and answers no connection. Remove the annotation to let it continue (kubectl gpushare resume)",
			gpushare.PausedAnnotation))
	case p.level == stopped:
		n.event(pod, 0, false, "Paused", fmt.Sprintf("The job waits after step %d, because %s is \"true\": other jobs have its time of the GPU and its CPU. "+
			"It keeps its memory. Remove the annotation to let it continue (kubectl gpushare resume)", p.halt.Step(), gpushare.PausedAnnotation))
	case p.level == withoutCPU:
		n.event(pod, 0, true, "PausedPartly", fmt.Sprintf("%s is \"true\", but the job cannot be stopped: %s. %s",
			gpushare.PausedAnnotation, p.why, pod.withoutStop()))
	case before != running:
		n.event(pod, 0, false, "Resumed", "The job continues: it has its part of the GPU's time and of the CPU again, as if it had been "+
			"absent in the meantime")
	}
}

// withoutStop says what a pause does to a job that goes on computing.
func (j *job) withoutStop() string {
	if why := j.fixed(); why != "" {
		return "Its CPU request stays as well: " + why + ". So the pause has no effect"
	}
	return "It has the least CPU request, and goes on computing with what others leave"
}

// wantsPause reports whether one of the pods has the annotation. An event names an invalid value once.
func (n *Node) wantsPause(pods []*job) bool {
	wanted := false
	for _, j := range pods {
		value := j.pod.Annotations[gpushare.PausedAnnotation]
		paused, err := gpushare.ParsePaused(value)
		if err != nil && j.pause.invalid != value {
			j.pause.invalid = value
			n.podEvent(j.pod.Ref, true, "BadAnnotation", err.Error()+". The job goes on as before")
		}
		wanted = wanted || paused && !j.pod.Ended()
	}
	return wanted
}

// podsOf returns the pods of the job.
func (n *Node) podsOf(j *job) []*job {
	return slices.DeleteFunc(n.sorted(), func(other *job) bool { return other.identity() != j })
}
