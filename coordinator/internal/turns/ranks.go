package turns

import (
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const (
	// leastMargin is the number of steps by which an announced step is ahead. mostMargin bounds it.
	leastMargin, mostMargin = 2, 4096
	// mostLate bounds the doublings of the time in which others do not wait for several processes that do not stop.
	mostLate = 6
)

// several reports whether a job has several processes, connected or not.
func several(conns []*conn) bool {
	return len(conns) > 1 || len(conns) == 1 && conns[0].gate.WorldSize > 1
}

// incomplete reports whether a rank of the job has no connection. It cannot be stopped, and would wait for the others in a
// collective operation. The plan decides about jobs on several nodes.
func (j *job) incomplete(conns []*conn) bool {
	size, ranks, last := 0, 0, -1
	for _, c := range conns {
		size = max(size, c.gate.WorldSize)
		if rank := c.gate.Rank; rank != nil && *rank != last {
			ranks, last = ranks+1, *rank
		}
	}
	return !j.Always && 0 < ranks && ranks < size
}

// lacksIdle reports whether ranks that wait would compute up to a collective operation only, with the GPU busy, because a
// rank is idle: it still saves. A rank in an earlier step can go on, and the idle one may wait for that. Processes that do
// not name their ranks are idle whenever they wait for data, and may be independent of each other.
func lacksIdle(conns []*conn) bool {
	idle, waiting := int64(-1), int64(math.MaxInt64)
	for _, c := range conns {
		switch {
		case c.gate.State == wire.GateIdle && c.gate.WorldSize > 1:
			idle = max(idle, c.gate.Step)
		case c.gate.State == wire.GateClosed:
			waiting = min(waiting, c.gate.Step)
		}
	}
	return idle >= 0 && waiting >= idle
}

// hearSeveral applies a line of one of several processes. It returns false if the line does not change the job's state.
func (j *job) hearSeveral(conns []*conn, c *conn) bool {
	scheduled := j.group.scheduler.State(j.Pod)
	switch {
	case c.gate.State == wire.GateClosed && j.joins(conns, scheduled):
		c.send(true, 0)
		return true
	case !j.stopping:
		if scheduled == turn.Stopping && !j.freezes() { // it was asked while it had one process
			j.announce(conns)
		}
		return true
	case c.gate.State == wire.GateOpen && j.asked[c] == 0: // it has connected since
		j.ask(c)
		return false
	case c.gate.State == wire.GateOpen && c.gate.Sequence == j.asked[c] && c.gate.Step >= j.afterStep:
		j.announceLater(conns)
		return false
	case c.gate.State == wire.GateOpen && j.tooFar(conns):
		j.announce(conns)
		return false
	case c.gate.State == wire.GateClosed && c.gate.Step < j.afterStep:
		j.ask(c) // it was idle, and the others wait for it in the steps before
		return false
	}
	return true
}

// joins reports whether a process that asks for the turn computes at once: it was idle while the others computed, with the
// turn or because they did not stop in time, or some of them are not connected.
func (j *job) joins(conns []*conn, scheduled turn.State) bool {
	return scheduled == turn.Holding || scheduled == turn.Overdue || j.incomplete(conns)
}

// announce asks the processes to stop after a step that they have not reached yet.
func (j *job) announce(conns []*conn) {
	j.margin = max(j.margin, leastMargin)
	j.stopping, j.asked = true, map[*conn]int64{}
	j.afterStep = 0
	for _, c := range conns {
		j.afterStep = max(j.afterStep, c.step())
	}
	j.afterStep += j.margin
	for _, c := range conns {
		if c.gate.State != wire.GateIdle {
			j.ask(c)
		}
	}
}

// ask announces the step to one process. One that has stopped in a step before continues up to it.
func (j *job) ask(c *conn) {
	if c.gate.State == wire.GateClosed {
		c.send(true, 0)
	}
	c.send(false, j.afterStep)
	j.asked[c] = c.sequence
}

// askRest asks again after a process has gone, if the job still has to stop. A process that is the last one need not wait for
// others: it stops after its next step, although it has gone past the announced one, or continues because the job is overdue.
// Several may be far from a step that only the process that has gone was near to.
func (j *job) askRest(conns []*conn) {
	switch state := j.group.scheduler.State(j.Pod); {
	case j.freezes() || state != turn.Stopping && state != turn.Overdue:
	case !several(conns):
		j.stopping = false
		for _, c := range conns {
			if c.gate.State == wire.GateOpen {
				c.send(false, 0)
			}
		}
	case j.stopping && j.tooFar(conns):
		j.announce(conns)
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
