package node

import (
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const (
	// obeyTime is the time in which the processes of a job that is to stop must connect and answer. A job that does not is
	// taken for one without the shim.
	obeyTime = 20 * time.Second
	// repeatStop is the time between two orders to a job that waits. It is well below wire.StopBound.
	repeatStop = 15 * time.Second
	// latestStop is the time after which the node is woken to do so, if no tick comes earlier.
	latestStop = 30 * time.Second
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

// seeForStop records the step of a process, and makes the requests that wait for it.
func (n *Node) seeForStop(j *job, e ProgressReported) {
	p := halt.Process{Slot: e.Slot, Connection: e.Connection}
	j.halt().Reported(n.now, p, e.Progress.Process, e.Progress.Step)
	if s := &j.identity().save; !s.waits.IsZero() {
		s.waits = time.Time{}
		n.followSave(j)
	}
	if !j.identity().pause.asked.IsZero() {
		n.followPause(j)
	}
}

func (e ProcessStopped) apply(n *Node) {
	j := n.jobOf(e.Slot)
	if j == nil {
		return
	}
	j.halt().Answered(n.now, halt.Process{Slot: e.Slot, Connection: e.Connection}, e.Stopped)
	n.followPause(j)
	n.followSave(j)
}

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

// wakeForStops returns when the node must be woken.
func (n *Node) wakeForStops() time.Time {
	if !n.stopsDue.IsZero() && (n.wake.IsZero() || n.stopsDue.Before(n.wake)) {
		return n.stopsDue
	}
	return n.wake
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

// orderStop sends the order that is due to the job's processes.
func (n *Node) orderStop(j *job, pods []*job, stop bool) {
	p := &j.pause
	order, due := n.nextOrder(j, stop)
	if !due {
		if order, due = p.halt.Order(); !due || n.now.Sub(p.repeated) < repeatStop {
			return
		}
	}
	p.repeated = n.now
	if order.Stop && n.stopsDue.IsZero() {
		n.stopsDue = n.now.Add(latestStop)
	}
	for _, pod := range pods {
		for _, slot := range n.Slots(pod.pod.Ref.UID) {
			n.out.Stops = append(n.out.Stops, SlotStop{Slot: slot, Stop: order})
		}
	}
}

// nextOrder returns the order that is due: that of the node that leads the job, or this one's own.
func (n *Node) nextOrder(j *job, stop bool) (wire.Stop, bool) {
	if lead := n.leader(j); lead != "" {
		order := n.others(j)[lead].Order
		return order, j.pause.halt.Follow(n.now, order)
	}
	return j.pause.halt.Next(n.now, stop, j.leader().rates.step)
}

// deliverStop sends the order in force to slots that have just been opened.
func (n *Node) deliverStop(j *job) {
	if order, stop := j.halt().Order(); stop {
		for _, slot := range n.Slots(j.pod.Ref.UID) {
			n.out.Stops = append(n.out.Stops, SlotStop{Slot: slot, Stop: order})
		}
	}
}

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

// parkPaused gives paused jobs the least request, and returns the other jobs with the rest of the pool.
func (n *Node) parkPaused(jobs []*job, originals []Requests, pool growth.MilliCPU) ([]*job, []Requests, growth.MilliCPU) {
	for i, j := range jobs {
		if !j.isPaused() {
			continue
		}
		least := j.pod.minimum()
		j.lifetime.hold(j.share, n.now)
		j.share = 0
		j.wanted = j.pod.Divide(j.pod.appsFor(least), originals[i])
		pool = max(pool-least, 0)
	}
	jobs, originals = n.active(jobs, originals)
	return jobs, originals, pool
}

// active returns the jobs that are not paused.
func (n *Node) active(jobs []*job, originals []Requests) (others []*job, theirs []Requests) {
	for i, j := range jobs {
		if !j.isPaused() {
			others = append(others, j)
			theirs = append(theirs, originals[i])
		}
	}
	return others, theirs
}

// pausedOnCPU returns the paused jobs for package fairfinish.
func (n *Node) pausedOnCPU() []fairfinish.Job {
	var paused []fairfinish.Job
	for _, j := range n.sorted() {
		if j.tunable() && j.isPaused() && !j.pod.Ended() {
			paused = append(paused, fairfinish.Job{
				ID:        j.pod.Ref.UID,
				Used:      growth.Work(j.metered.CPU),
				Remaining: n.forecast(j.leader()).remaining,
				Paused:    true,
			})
		}
	}
	return paused
}

// pausedOnGPUs returns the jobs that have stopped, likewise.
func (n *Node) pausedOnGPUs() []fairfinish.Job {
	var paused []fairfinish.Job
	for _, j := range n.sorted() {
		if j.identity() == j && j.leavesGPU() && !j.pod.Ended() {
			paused = append(paused, fairfinish.Job{
				ID:        j.pod.Ref.UID,
				Used:      growth.Work(j.gpu.used),
				Remaining: n.forecast(j.leader()).remaining,
				Paused:    true,
			})
		}
	}
	return paused
}

// keepPaused keeps the accounts of paused jobs on GPUs that no other job uses.
func (n *Node) keepPaused(fair fairfinish.State) {
	for _, j := range n.pausedOnGPUs() {
		if a, known := n.gpuFair.Accounts[j.ID]; known && fair.Accounts[j.ID].Weight == 0 {
			a.Paused = true
			fair.Accounts[j.ID] = a
		}
	}
}
