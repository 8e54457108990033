package halt

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const (
	// leastMargin is the number of steps by which a named step is ahead. mostMargin bounds it.
	leastMargin, mostMargin = 2, 1 << 20
	// mostDoubled bounds how often the margin is doubled.
	mostDoubled = 20
	// answerTime is the time in which an order reaches all processes and their answers come back. Sockets are read once a
	// second.
	answerTime growth.Seconds = 2
	// maxProcesses bounds the processes of a job that are tracked.
	maxProcesses = 256
)

// Process identifies a process by its connection. Node is empty for one on this node.
type Process struct {
	Slot       string
	Connection int64
	Node       growth.NodeName
}

// Job is the state of one job. The zero value is a job that runs.
type Job struct {
	order    wire.Stop // as last sent
	ordered  time.Time // when this job named it
	doubled  int       // how often the margin was doubled for the present order
	began    time.Time // when the job was first asked to stop; zero while it is not
	all      map[Process]*process
	answered bool // a process has answered an order
	// gone is set if all processes have left since the order was sent. Those that come receive it all the same: the socket keeps
	// the last order of a slot.
	gone bool
}

type process struct {
	rank      int // -1 if unknown
	worldSize int
	trains    bool // it has made a step
	step      int64
	at        time.Time // when it reported the step
	answer    int64     // sequence of the newest order that it has answered
	answered  int64     // the step that it had reached then
	stopped   bool
}

// Reported adds a progress report.
func (j *Job) Reported(now time.Time, p Process, who wire.Process, step int64) {
	if m := j.process(p); m != nil {
		m.name(who)
		m.step, m.at, m.trains = step, now, true
	}
}

// Answered adds the answer of a process.
func (j *Job) Answered(now time.Time, p Process, a wire.Stopped) {
	m := j.process(p)
	if m == nil {
		return
	}
	m.name(a.Process)
	m.step, m.at, m.stopped = max(m.step, a.Step), now, a.Stopped
	m.answer, m.answered = a.Sequence, a.Step
	m.trains = m.trains || a.Step > 0 || a.Stopped
	j.answered = j.answered || a.Sequence > 0
}

// Left removes a process whose connection has ended. A job that starts again may count its steps from 0, so its ranks are
// stopped by a new order.
func (j *Job) Left(p Process) {
	delete(j.all, p)
	if len(j.all) == 0 {
		j.gone = true
	}
}

func (j *Job) process(p Process) *process {
	m := j.all[p]
	if m != nil || len(j.all) >= maxProcesses {
		return m
	}
	if j.all == nil {
		j.all = map[Process]*process{}
	}
	m = &process{rank: -1}
	j.all[p] = m
	return m
}

func (m *process) name(who wire.Process) {
	if who.Rank != nil {
		m.rank = *who.Rank
	}
	if who.WorldSize > 0 {
		m.worldSize = who.WorldSize
	}
}

// Next returns the order that is due, if one is. stop says whether the job should stop, pace is the time of one step; 0 if
// it is unknown.
func (j *Job) Next(now time.Time, stop bool, pace growth.Seconds) (order wire.Stop, due bool) {
	switch {
	case !stop:
		return j.resume()
	case len(j.all) == 0 || j.Incomplete():
		return wire.Stop{}, false
	case !j.order.Stop || j.gone:
		j.began, j.doubled, j.answered = now, 0, false
		return j.announce(now, pace), true
	case j.passed():
		j.doubled++
		return j.announce(now, pace), true
	case j.nearer(now):
		return j.order, true
	}
	return wire.Stop{}, false
}

// resume lets the job continue: after an order of this coordinator, or of an earlier one.
func (j *Job) resume() (wire.Stop, bool) {
	stopped := false
	for _, m := range j.all {
		stopped = stopped || m.stopped && m.answer == 0 && j.order.Sequence == 0
	}
	if !j.order.Stop && !stopped {
		return wire.Stop{}, false
	}
	j.began, j.gone = time.Time{}, false
	j.order = wire.Stop{Sequence: j.next()}
	return j.order, true
}

// announce names the step after which all ranks stop.
func (j *Job) announce(now time.Time, pace growth.Seconds) wire.Stop {
	j.order, j.ordered, j.gone = wire.Stop{Sequence: j.next(), Stop: true}, now, false
	if !j.Several() {
		return j.order
	}
	waiting := true
	for _, m := range j.all {
		if !j.onlyAnswers(m) {
			waiting = waiting && m.stopped
			j.order.AfterStep = max(j.order.AfterStep, m.reached(now, pace))
		}
	}
	switch {
	case !waiting:
		j.order.AfterStep += j.margin(pace)
	case j.WorldSize() <= 1:
		j.order.AfterStep = 0 // they stay where they are, after different steps if they are independent
	}
	return j.order
}

func (j *Job) margin(pace growth.Seconds) int64 {
	margin := int64(leastMargin)
	if pace > 0 {
		answer := answerTime
		if j.far() {
			answer = farAnswerTime
		}
		margin = max(margin, int64(math.Ceil(float64(answer/pace))))
	}
	return min(margin<<min(j.doubled, mostDoubled), mostMargin)
}

// passed reports whether a rank has reached the named step before it learned of it.
func (j *Job) passed() bool {
	for _, m := range j.all {
		if m.answer == j.order.Sequence && !m.stopped && j.order.AfterStep > 0 && m.answered >= j.order.AfterStep {
			return true
		}
	}
	return false
}

// Incomplete reports whether a rank of the job is not connected. It may be on another node.
func (j *Job) Incomplete() bool {
	ranks := map[int]bool{}
	for _, m := range j.all {
		if m.rank >= 0 {
			ranks[m.rank] = true
		}
	}
	size := j.WorldSize()
	return size > 1 && len(ranks) < size
}

// Connected reports whether a process of the job on this node has reported.
func (j *Job) Connected() bool { return len(j.Processes()) > 0 }

// Processes returns the processes of this node that have reported.
func (j *Job) Processes() []Process {
	return slices.DeleteFunc(slices.Collect(maps.Keys(j.all)), func(p Process) bool { return p.Node != "" })
}

// Obeys reports whether a process has answered the present order. Shims of the previous release do not.
func (j *Job) Obeys() bool { return j.answered }

// Answers reports whether a process has answered an order. Its shim then numbers what it answers to requests to save, too,
// unlike one of the previous release.
func (j *Job) Answers(p Process) bool { return j.all[p] != nil && j.all[p].answer > 0 }

// Since returns when the job was asked to stop; zero if it was not.
func (j *Job) Since() time.Time { return j.began }

// Stopped reports whether all processes that make steps wait after the step of the order.
func (j *Job) Stopped() bool {
	if !j.order.Stop || j.gone || len(j.all) == 0 || j.Incomplete() {
		return false
	}
	for _, m := range j.all {
		if !j.onlyAnswers(m) && (!m.stopped || m.step < j.order.AfterStep) {
			return false
		}
	}
	return true
}

// Step returns the step after which the job has stopped.
func (j *Job) Step() int64 {
	step := int64(0)
	for _, m := range j.all {
		step = max(step, m.step)
	}
	return step
}

// Order returns the order in force, to be repeated while the job waits; false if there is none.
func (j *Job) Order() (wire.Stop, bool) { return j.order, j.order.Stop && !j.gone }
