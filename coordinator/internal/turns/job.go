package turns

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const (
	// leastMargin is the number of steps by which an announced step is ahead. mostMargin bounds it.
	leastMargin, mostMargin = 2, 4096
	// mostLate bounds the doublings of the time in which others do not wait for several processes that do not stop.
	mostLate = 6
)

// job is a job of the plan. Its fields are guarded by Server.mu.
type job struct {
	node.TurnJob
	server *Server
	group  *group
	state  turn.State // as last reported to the scheduler; Absent without connections
	steps  int64      // made by its first process
	before turn.Use   // used in groups that no longer exist
	since  time.Time  // time since which it does not compute

	// stopping is set between Revoke and the answer of all processes. afterStep is the announced step of several processes,
	// margin their present margin, and asked has the sequence of the announcement for each of them.
	stopping  bool
	afterStep int64
	margin    int64
	asked     map[*conn]int64
	overdue   int64 // times that it has not stopped in time
	late      int   // times in a row that several processes have not stopped in time
	frozen    frozen
}

// conns returns the connections of the job that have reported, in the order of their ranks.
func (j *job) conns() []*conn {
	var all []*conn
	for _, slot := range j.Slots {
		if l := j.server.open[slot]; l != nil {
			for _, c := range l.conns {
				if c.gate.State != "" {
					all = append(all, c)
				}
			}
		}
	}
	slices.SortFunc(all, (*conn).before)
	return all
}

// observed returns what the job does: it computes if any of its processes does.
func (j *job) observed(conns []*conn) turn.State {
	if j.freezes() {
		return j.thawed()
	}
	state := turn.Absent
	for _, c := range conns {
		switch c.gate.State {
		case wire.GateOpen:
			return turn.Holding
		case wire.GateClosed:
			state = turn.Ready
		case wire.GateIdle:
			state = max(state, turn.Idle)
		}
	}
	return state
}

// several reports whether a job has several processes, connected or not.
func several(conns []*conn) bool {
	return len(conns) > 1 || len(conns) == 1 && conns[0].gate.WorldSize > 1
}

// hear applies a line of one of the job's processes.
func (j *job) hear(c *conn) {
	conns := j.conns()
	if c == conns[0] {
		j.steps += c.gate.Steps
	}
	if several(conns) && !j.hearSeveral(conns, c) {
		return
	}
	j.report(conns)
}

// hearSeveral applies a line of one of several processes. It returns false if the line does not change the job's state.
func (j *job) hearSeveral(conns []*conn, c *conn) bool {
	scheduled := j.group.scheduler.State(j.Pod)
	switch {
	case c.gate.State == wire.GateClosed && scheduled == turn.Holding:
		c.send(true, 0) // it was idle while the others computed
		return false
	case !j.stopping:
		return true
	case c.gate.State == wire.GateOpen && c.gate.Sequence == j.asked[c] && c.gate.Step >= j.afterStep:
		j.announceLater(conns)
		return false
	case c.gate.State == wire.GateOpen && j.tooFar(conns):
		j.announce(conns)
		return false
	case c.gate.State == wire.GateClosed && c.gate.Step < j.afterStep:
		c.send(true, 0) // it was idle, and the others wait for it in the steps before
		c.send(false, j.afterStep)
		j.asked[c] = c.sequence
		return false
	}
	return true
}

// left applies the end of a connection.
func (j *job) left() { j.report(j.conns()) }

// report passes a change of the job's state to the scheduler.
func (j *job) report(conns []*conn) {
	state := j.observed(conns)
	if state == j.state {
		return
	}
	j.state = state
	switch state {
	case turn.Holding:
		j.group.step(turn.Opened{Job: j.Pod})
	case turn.Ready:
		j.stopping, j.late = false, 0
		j.group.step(turn.Waits{Job: j.Pod})
	case turn.Idle:
		j.stopping = false
		j.group.step(turn.Pauses{Job: j.Pod})
	default:
		j.stopping = false
		j.group.step(turn.Left{Job: j.Pod})
	}
}

// start lets all processes compute.
func (j *job) start() {
	j.stopping, j.state, j.margin = false, turn.Holding, leastMargin
	j.setFrozen(false)
	for _, c := range j.conns() {
		if c.gate.State == wire.GateClosed {
			c.send(true, 0)
		}
	}
}

// stop makes all processes stop after the same step.
func (j *job) stop() {
	if j.freezes() {
		j.setFrozen(true)
		return
	}
	conns := j.conns()
	if several(conns) {
		j.announce(conns)
		return
	}
	for _, c := range conns { // none if its slot has just been closed
		c.send(false, 0)
	}
}

func (j *job) announce(conns []*conn) {
	j.margin = max(j.margin, leastMargin)
	j.stopping, j.asked = true, map[*conn]int64{}
	j.afterStep = 0
	for _, c := range conns {
		j.afterStep = max(j.afterStep, c.step())
	}
	j.afterStep += j.margin
	for _, c := range conns {
		if c.gate.State == wire.GateOpen {
			c.send(false, j.afterStep)
			j.asked[c] = c.sequence
		}
	}
}

// tooFar reports whether the processes, which have all answered, are much further from the announced step than the margin.
// Their steps have become slower since they reported their rate.
func (j *job) tooFar(conns []*conn) bool {
	reached := int64(0)
	for _, c := range conns {
		if c.gate.State != wire.GateOpen || c.gate.Sequence != j.asked[c] {
			return false
		}
		reached = max(reached, c.step())
	}
	return reached+2*j.margin < j.afterStep
}

// announceLater lets the processes continue that have stopped, and announces a later step.
func (j *job) announceLater(conns []*conn) {
	j.margin = min(2*max(j.margin, leastMargin), mostMargin)
	j.server.metrics.postponed.Inc()
	j.cancel(conns)
	j.announce(conns)
}

// cancel lets all processes continue.
func (j *job) cancel(conns []*conn) {
	j.setFrozen(false)
	for _, c := range conns {
		if c.gate.State != wire.GateIdle {
			c.send(true, 0)
		}
	}
	j.stopping = false
}

// giveUp is called if the job has not stopped in time. A job with one process computes until it answers. Of several
// processes some may have stopped, and the others cannot go on without them: all continue, and are asked again later.
func (j *job) giveUp() {
	conns := j.conns()
	j.server.metrics.overdue.Inc()
	j.overdue++
	j.server.log.Warn("a job has not stopped in time: others no longer wait for it", "uid", j.Pod, "processes", len(conns))
	if several(conns) {
		j.cancel(conns)
		time.AfterFunc(j.server.config.Timeout<<j.late, j.askAgain)
		j.late = min(j.late+1, mostLate)
	}
}

// askAgain ends the time in which others do not wait for the job.
func (j *job) askAgain() {
	s := j.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[j.Pod] == j && slices.Contains(s.groups, j.group) && j.group.scheduler.State(j.Pod) == turn.Overdue {
		j.group.step(turn.Asked{Job: j.Pod})
	}
}

// repeat sends the turn again to processes that wait, which would otherwise take the coordinator for gone.
func (j *job) repeat() {
	if j.state != turn.Ready {
		return
	}
	for _, c := range j.conns() {
		if c.gate.State == wire.GateClosed {
			c.send(false, 0)
		}
	}
}

// use returns what the job has used.
func (j *job) use(now turn.Use) node.GPUUse {
	var together []node.Together
	for _, t := range now.Together {
		together = append(together, node.Together{Others: t.Others, Held: growth.Seconds(t.Held.Seconds())})
	}
	return node.GPUUse{
		Together: together,
		Held:     growth.Seconds((j.before.Held + now.Held).Seconds()),
		Waited:   growth.Seconds((j.before.Waited + now.Waited).Seconds()),
		Alone:    growth.Seconds((j.before.Alone + now.Alone).Seconds()),
		Steps:    j.steps,
		Overdue:  j.overdue,
		Gated:    j.state != turn.Absent && (!j.freezes() || len(j.conns()) > 0),

		Unfreezable: j.frozen.failed,
	}
}
