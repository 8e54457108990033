package clustersim

import (
	"slices"
	"strconv"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// parts is how the time of a move divides into its parts: save, evict, place and restore.
var parts = [4]float64{0.25, 0.35, 0.05, 0.35}

// transfer is a job on its way to a worker. Its record takes the states of a move that nothing goes wrong with.
type transfer struct {
	*job
	record move.Record
	// over are the times at which the job has saved, is evicted, is placed, and runs again.
	over [4]float64
}

func newTransfer(j *job, m specon.Move, now, seconds float64) transfer {
	t := transfer{job: j}
	t.record = move.Record{
		ID:    string(j.ID()) + "-" + strconv.Itoa(j.speculative+j.rebalanced),
		Old:   j.ID(),
		From:  m.From,
		To:    m.To,
		State: move.Proposed,
		Since: date(now),
		Began: date(now),
		Cause: move.Faster,
		Delay: m.Delay,
	}
	sum := 0.0
	for i, part := range parts {
		sum += part
		t.over[i] = now + sum*seconds
	}
	t.over[3] = now + seconds // without the rounding of the sum
	return t
}

// end is when the job runs again.
func (t transfer) end() float64 { return t.over[3] }

// done returns the record of the whole move.
func (t transfer) done() move.Record {
	limits, r := move.DefaultLimits(), t.record
	r, _ = limits.Next(r, t.seen(0), r.Began)
	for i, at := range t.over {
		for changed := true; changed; {
			r, changed = limits.Next(r, t.seen(i+1), date(at))
		}
	}
	return r
}

// seen is what the mover observes after some parts of the move. The pods of a job have one UID here.
func (t transfer) seen(parts int) move.Seen {
	s := move.Seen{Permission: move.Granted, Reserved: true}
	if parts < 2 {
		s.Old = &move.Pod{UID: t.ID(), Node: t.record.From}
	}
	if parts >= 1 {
		s.Checkpoint = &move.Checkpoint{Step: 1}
	}
	if parts >= 3 {
		s.New = &move.Pod{UID: t.ID(), Node: t.record.To}
	}
	if parts >= 4 {
		s.Step = 1
	}
	return s
}

// move starts moves.
func (c *cluster) move(moves []specon.Move) {
	for _, m := range moves {
		from, to := c.named[m.From], c.named[m.To]
		i := slices.IndexFunc(from.jobs, func(j *job) bool { return j.ID() == m.Job })
		if i < 0 || from == to {
			continue // it has ended or is moving, or it stays
		}
		j := from.jobs[i]
		if m.Reason == specon.Rebalancing {
			j.rebalanced++
		} else {
			j.speculative++
		}
		c.touch(from)
		from.remove(j)
		c.assign(j, to)
		to.expect(j)
		t := newTransfer(j, m, c.now, max(5, min(11, 8+1.5*c.dice.NormFloat64())))
		k, _ := slices.BinarySearchFunc(c.moving, t, func(a, b transfer) int { return a.Index - b.Index })
		c.moving = slices.Insert(c.moving, k, t)
	}
}

// land starts jobs that have moved.
func (c *cluster) land() {
	over := func(t transfer) bool { return t.end() <= c.now }
	for _, t := range c.moving {
		if !over(t) {
			continue
		}
		r := t.done()
		if len(t.history.Past) == 0 {
			c.moved = append(c.moved, t.job)
		}
		t.history, t.created = t.history.With(r), r.Times.Evicted
		t.on.expectNoMore(t.job)
		c.start(t.job)
	}
	c.moving = slices.DeleteFunc(c.moving, over)
}

// touched returns the workers that a job moves from or to.
func (c *cluster) touched() map[growth.NodeName]bool {
	all := map[growth.NodeName]bool{}
	for _, t := range c.moving {
		all[t.record.From], all[t.record.To] = true, true
	}
	return all
}
