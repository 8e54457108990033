package node

import (
	"time"

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

// wakeForStops returns when the node must be woken.
func (n *Node) wakeForStops() time.Time {
	if !n.stopsDue.IsZero() && (n.wake.IsZero() || n.stopsDue.Before(n.wake)) {
		return n.stopsDue
	}
	return n.wake
}

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
