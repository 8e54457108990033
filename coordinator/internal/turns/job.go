package turns

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// job is a job of the plan. Its fields are guarded by Server.mu.
type job struct {
	node.TurnJob
	server *Server
	group  *group
	state  turn.State // as last reported to the scheduler; Absent without connections
	steps  int64      // made by its first process
	// aloneSteps are those of steps that it made in turns in which no other job of its GPUs computed, aloneIn is the time that these took.
	aloneSteps int64
	aloneIn    growth.Seconds
	counted    turn.Use  // what it had used at its last line with steps
	before     turn.Use  // used in groups that no longer exist
	since      time.Time // time since which it does not compute

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

// observed returns what the job does: it computes if any of its processes does. A job that is not complete cannot be
// paused. Of several ranks none is ready while another is idle, as all of them start together.
func (j *job) observed(conns []*conn) turn.State {
	if j.freezes() {
		return j.thawed()
	}
	if j.incomplete(conns) {
		return turn.Absent
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
	if state == turn.Ready && lacksIdle(conns) {
		return turn.Idle
	}
	return state
}

// hear applies a line of one of the job's processes.
func (j *job) hear(c *conn) {
	conns := j.conns()
	if c == conns[0] {
		j.countSteps(c.gate.Steps)
	}
	if j.freezes() && c.gate.State == wire.GateClosed { // it is frozen while it must not compute, and waits for nothing else
		c.send(true, 0)
	}
	if several(conns) && !j.hearSeveral(conns, c) {
		return
	}
	j.report(conns)
}

// countSteps counts the steps that the job has made since its last line with steps.
func (j *job) countSteps(steps int64) {
	if steps == 0 {
		return
	}
	j.steps += steps
	used := j.group.scheduler.UseOf(time.Now(), j.Pod)
	used.Held, used.Alone = used.Held+j.before.Held, used.Alone+j.before.Alone
	held, alone := used.Held-j.counted.Held, used.Alone-j.counted.Alone
	if alone > 0 && held-alone <= alone/20 {
		j.aloneSteps += steps
		j.aloneIn += growth.Seconds(held.Seconds())
	}
	j.counted = used
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
		j.cancel(conns)
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

// repeat sends the turn again to processes that wait, for the turn or for a rank that is idle. They would otherwise take the
// coordinator for gone.
func (j *job) repeat() {
	if j.state != turn.Ready && j.state != turn.Idle {
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
		Kept:     growth.Seconds((j.before.Kept + now.Kept).Seconds()),
		Alone:    growth.Seconds((j.before.Alone + now.Alone).Seconds()),
		Steps:    j.steps,

		AloneSteps: j.aloneSteps,
		AloneIn:    j.aloneIn,

		Overdue: j.overdue,
		Gated:   j.state != turn.Absent && (!j.freezes() || len(j.conns()) > 0),

		Frozen:      j.frozen.freezes > 0,
		Unfreezable: j.frozen.failed,
	}
}
