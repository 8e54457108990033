package turnbench

import (
	"math"
	"net"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// gated is a job that is connected for turns.
type gated struct {
	slot   string
	ranks  []*rank
	weight float64
	used   float64 // seconds over weight
	since  time.Time
	// revoked is the time at which the job had to stop; zero while it may compute. late is set if it did not.
	revoked time.Time
	late    bool
	// margin is the distance of the step after which several ranks stop from the highest known one, and order the sequence
	// of that order.
	margin, after, order int64
}

// firstMargin is the margin of the first order.
const firstMargin = 3

// rank is one process of a job.
type rank struct {
	conn           net.Conn
	state          wire.GateState
	step, answered int64
}

func (j *gated) drop(r *rank) {
	j.ranks = slices.DeleteFunc(j.ranks, func(o *rank) bool { return o == r })
}

// all reports whether all ranks are in a state.
func (j *gated) all(state wire.GateState) bool {
	return !slices.ContainsFunc(j.ranks, func(r *rank) bool { return r.state != state })
}

func (j *gated) highest() (step int64) {
	for _, r := range j.ranks {
		step = max(step, r.step)
	}
	return step
}

// send sends a turn to all ranks of a job.
func (d *division) send(j *gated, hold bool, after int64) {
	d.sequence++
	line, _ := wire.Encode(wire.Turn{Sequence: d.sequence, Hold: hold, AfterStep: after})
	for _, r := range j.ranks {
		_ = r.conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = r.conn.Write(line)
	}
}

// answered reacts to a line of a job, or to its end.
func (d *division) answered(j *gated) {
	if j.after > 0 && j.all(wire.GateOpen) && !slices.ContainsFunc(j.ranks, func(r *rank) bool { return r.answered < j.order }) {
		if j.highest() >= j.after { // a rank was ahead of the order
			d.send(j, true, 0)
			j.margin *= 2
			d.revoke(j, j.revoked)
			return
		}
	}
	if j == d.holder && (len(j.ranks) == 0 || j.all(wire.GateClosed) || j.all(wire.GateIdle)) {
		j.used += time.Since(j.since).Seconds() / j.weight
		d.holder = nil
	}
	if !j.all(wire.GateOpen) {
		j.late = false
	}
	d.advance(time.Now())
}

// revoke sends a job to stop. Several ranks stop after the same step.
func (d *division) revoke(j *gated, at time.Time) {
	j.revoked, j.after = at, 0
	if len(j.ranks) > 1 {
		j.after = j.highest() + j.margin
	}
	d.send(j, false, j.after)
	j.order = d.sequence
}

// advance ends the present turn if it is over, and gives the next one.
func (d *division) advance(at time.Time) {
	if d.open {
		d.openAll()
		return
	}
	if h := d.holder; h != nil {
		switch {
		case !h.revoked.IsZero() && at.Sub(h.revoked) > overdue:
			h.late = true
			h.used += at.Sub(h.since).Seconds() / h.weight
			d.holder = nil
		case h.revoked.IsZero() && at.Sub(h.since) >= d.turn(h) && d.waiting(h):
			d.revoke(h, at)
		}
	}
	for _, j := range d.jobs { // jobs that have just connected, or that computed at once
		if j != d.holder && j.revoked.IsZero() && !j.late && j.all(wire.GateOpen) {
			d.revoke(j, at)
		}
	}
	if d.holder == nil {
		d.give(at)
	}
}

// give gives the turn to the waiting job that has used least for its weight, once nobody computes.
func (d *division) give(at time.Time) {
	var next *gated
	for _, j := range d.jobs {
		if !j.late && slices.ContainsFunc(j.ranks, func(r *rank) bool { return r.state == wire.GateOpen }) {
			if at.Sub(j.revoked) <= overdue {
				return
			}
			j.late = true
		}
		if j.all(wire.GateClosed) && (next == nil || j.used < next.used) {
			next = j
		}
	}
	if next == nil {
		return
	}
	next.used = max(next.used, d.least()-quantum.Seconds())
	next.since, next.revoked, next.after, next.margin = at, time.Time{}, 0, firstMargin
	d.holder = next
	d.send(next, true, 0)
	for _, r := range next.ranks {
		r.state = wire.GateOpen
	}
}

// turn returns the length of a job's turn.
func (d *division) turn(j *gated) time.Duration {
	least := math.Inf(1)
	for _, other := range d.jobs {
		least = min(least, other.weight)
	}
	return time.Duration(float64(quantum) * j.weight / least)
}

func (d *division) waiting(than *gated) bool {
	for _, j := range d.jobs {
		if j != than && !j.all(wire.GateIdle) {
			return true
		}
	}
	return false
}

// least returns the least use of the jobs that are not idle.
func (d *division) least() float64 {
	least := math.Inf(1)
	for _, j := range d.jobs {
		if !j.all(wire.GateIdle) {
			least = min(least, j.used)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// openAll lets all waiting jobs compute.
func (d *division) openAll() {
	d.holder = nil
	for _, j := range d.jobs {
		j.revoked, j.late = time.Time{}, false
		if slices.ContainsFunc(j.ranks, func(r *rank) bool { return r.state == wire.GateClosed }) {
			d.send(j, true, 0)
			for _, r := range j.ranks {
				r.state = wire.GateOpen
			}
		}
	}
}

// weigh starts turns with the given weights.
func (m *machine) weigh(weights map[*job]float64) {
	d := m.coordinator.turns
	d.mu.Lock()
	defer d.mu.Unlock()
	for j, weight := range weights {
		if g := d.jobs["slot-"+j.name]; g != nil {
			g.weight, g.used = weight, 0
		}
	}
	d.open = false
	d.advance(time.Now())
}

// open lets all jobs compute at once, as under plain sharing.
func (m *machine) open() {
	d := m.coordinator.turns
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = true
	d.advance(time.Now())
}
