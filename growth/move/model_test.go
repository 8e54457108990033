package move_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
)

// cluster has one job, which makes a step at a time and has ended after total. Two movers act on it. A mover acts
// on what it has read, however long ago that was: it may have slept, crashed and started again, or lost its lease.
type cluster struct {
	dice   *rand.Rand
	now    time.Time
	record move.Record
	rev    int
	pods   []*pod // the old one first
	disk   int64  // step of the last checkpoint
	answer *move.Checkpoint
	failed string

	reserved bool
	held     bool // what the coordinator does; it may be late too
	budget   bool // a disruption budget refuses the eviction
	lost     bool // the target has no room any more
	calm     bool // nothing fails any more
	ends     int
	finished bool // the controller has seen that a pod has ended
	bare     bool
}

type pod struct {
	name           string
	node           growth.NodeName
	gate           bool
	step           int64
	running        bool
	terminating    bool
	ended, removed bool
	permission     move.Permission
	version        int
	label, owned   bool // of a pod with an owner: it matches its owner's selector, and belongs to it
}

const total = 30

type view struct {
	record  move.Record
	rev     int
	seen    move.Seen
	version int
}

func newCluster(seed uint64) *cluster {
	w := &cluster{dice: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1000, 0)}
	w.bare = w.dice.IntN(2) == 0
	w.record = move.Record{ID: "m", Old: "old", Bare: w.bare, From: "a", To: "b", State: move.Proposed, Since: w.now, Began: w.now}
	w.record.Detach = !w.bare && w.dice.IntN(3) > 0
	w.pods = []*pod{{name: "old", node: "a", running: true, label: !w.bare, owned: !w.bare}}
	w.step(w.pods[0], w.dice.Int64N(total))
	return w
}

func (w *cluster) step(p *pod, n int64) {
	p.step = min(p.step+n, total-1)
}

func (w *cluster) find(name string) *pod {
	for _, p := range w.pods {
		if p.name == name && !p.removed {
			return p
		}
	}
	return nil
}

// look returns what a mover reads now.
func (w *cluster) look() view {
	v := view{record: w.record, rev: w.rev}
	if old := w.find("old"); old != nil {
		v.seen.Old = &move.Pod{UID: "old", Node: old.node, Ended: old.ended && !old.terminating}
		v.seen.Permission, v.version = old.permission, old.version
		v.seen.Attached = old.label && old.owned
	}
	v.seen.Checkpoint, v.seen.SaveFailed = w.answer, w.failed
	if w.budget {
		v.seen.Refused = "a budget"
	}
	if w.lost {
		v.seen.TargetLost = "the target is full"
	}
	if p := w.find("new"); p != nil {
		v.seen.New = &move.Pod{UID: "new", Node: p.node, Ended: p.ended}
		if p.running || p.ended {
			v.seen.Step = p.step
		}
	}
	return v
}

// write replaces the record if no other mover has.
func (w *cluster) write(v *view) {
	next, changed := move.DefaultLimits().Next(v.record, v.seen, w.now)
	if changed && v.rev == w.rev {
		w.rev++
		w.record, v.record, v.rev = next, next, w.rev
	}
}

// act does one of the things that a mover wants by what it has read.
func (w *cluster) act(v view) {
	wants, old := v.record.Wants(), w.find("old")
	switch w.dice.IntN(6) {
	case 0:
		if wants.Target {
			w.reserved = true
		} else if v.record.State.Final() {
			w.reserved = false
		}
	case 1:
		if old == nil || old.version != v.version { // compare-and-swap
			return
		}
		if wants.Grant && old.permission == move.None {
			old.permission = move.Granted
			old.version++
		}
		if wants.Withdraw && old.permission != move.Withdrawn && !old.terminating {
			old.permission = move.Withdrawn
			old.version++
		}
	case 2:
		if wants.Evict && old != nil && old.permission == move.Granted && old.running && !old.ended && !w.budget &&
			(!w.bare || w.find("new") != nil) && (!w.record.Detach || !old.owned) {
			old.terminating = true
			old.version++
		}
	case 3:
		if p := w.find("new"); wants.Copy && p == nil && old != nil { // it is a copy of the old pod
			w.pods = append(w.pods, &pod{name: "new", gate: true})
		} else if wants.Drop && p != nil && p.gate {
			p.removed = true
		}
	case 4:
		if p := w.find("new"); wants.Open && p != nil {
			p.gate = false
		}
	case 5:
		if old == nil || old.version != v.version || old.terminating {
			return
		}
		if wants.Detach && v.seen.Permission == move.Granted && old.label || wants.Attach && !old.label {
			old.label = !old.label
			old.version++
		}
	}
}

// control is what the controller of a pod with an owner does: it has one pod, of those that match its selector.
func (w *cluster) control() {
	old, successor := w.find("old"), w.find("new")
	if old != nil && old.owned != old.label && !old.terminating {
		old.owned = old.label
		old.version++
	}
	has := old != nil && old.owned && !old.terminating
	w.finished = w.finished || has && old.ended || successor != nil && successor.ended
	switch {
	case has && successor != nil && successor.node == "":
		successor.removed = true
	case !has && successor == nil && !w.finished:
		w.pods = append(w.pods, &pod{name: "new"})
	}
}

// live is what the rest of the cluster does.
func (w *cluster) live() {
	old, successor := w.find("old"), w.find("new")
	switch w.dice.IntN(10) {
	case 0: // the coordinator reads the record
		w.held = w.record.Wants().Hold
		if w.held && old != nil && old.running && w.answer == nil && w.failed == "" {
			if w.dice.IntN(8) == 0 {
				w.failed = "disk full"
				return
			}
			w.disk = old.step
			w.answer = &move.Checkpoint{Path: "p", SHA256: "s", Step: old.step}
		}
	case 1, 2:
		for _, p := range w.pods {
			if p.running && !p.terminating && (p.name != "old" || !w.held) && w.dice.IntN(3) == 0 {
				if p.step++; p.step >= total {
					p.running, p.ended = false, true
					w.ends++
				}
			}
		}
	case 3: // a process dies, and kubelet starts it again from its checkpoint,
		if old != nil && old.running && !w.calm && w.dice.IntN(4) == 0 {
			old.step = min(old.step, w.disk)
		}
		w.held = w.held && (w.calm || w.dice.IntN(3) > 0) // or its coordinator
	case 4:
		if old != nil && old.terminating {
			old.running, old.removed = false, true
		}
		if old != nil && old.ended && !old.terminating && (old.owned || w.bare && w.record.Ended) {
			w.finished, old.removed = true, true // its owner cleans up; or, without one, somebody who waits until the end is known
		}
	case 5: // the scheduler
		if successor != nil && !successor.gate && successor.node == "" && !w.record.Place(old == nil).Wait {
			successor.node = "b"
			if !w.reserved {
				successor.node = "c"
			}
		}
	case 6:
		if successor != nil && successor.node != "" && !successor.running && !successor.ended {
			successor.running, successor.step = true, w.disk
		}
	case 7:
		w.budget = !w.calm && w.dice.IntN(3) == 0
		w.lost = w.lost || !w.calm && w.dice.IntN(30) == 0
	case 8:
		if !w.bare {
			w.control()
		}
	case 9:
		w.now = w.now.Add(time.Duration(w.dice.IntN(40)) * time.Second)
	}
}

func (w *cluster) check() error {
	running := 0
	for _, p := range w.pods {
		if p.running {
			running++
		}
		if p.running && p.gate {
			return fmt.Errorf("%s runs behind its gate", p.name)
		}
	}
	if running > 1 {
		return fmt.Errorf("the job runs %d times at a time", running)
	}
	if w.ends > 1 {
		return fmt.Errorf("the job has ended %d times", w.ends)
	}
	return nil
}

func history(seed uint64) (*cluster, error) {
	w := newCluster(seed)
	movers := []view{w.look(), w.look()}
	for range 40 + w.dice.IntN(120) {
		i := w.dice.IntN(len(movers))
		m := &movers[i]
		switch w.dice.IntN(6) {
		case 0:
			if i == 0 || w.dice.IntN(20) == 0 { // the other one sleeps for long
				*m = w.look()
			}
		case 1:
			w.write(m)
		case 2:
			w.act(*m)
		default:
			w.live()
		}
		if err := w.check(); err != nil {
			return w, err
		}
	}
	w.budget, w.calm = false, true
	for range 4000 { // now everybody is awake
		m := w.look()
		w.write(&m)
		w.act(m)
		w.live()
		if err := w.check(); err != nil {
			return w, err
		}
		if w.record.State.Final() && w.ends == 1 && !w.reserved && w.leaked() == "" {
			return w, nil
		}
	}
	return w, fmt.Errorf("state %s, ended %d times, reserved %t, %s", w.record.State, w.ends, w.reserved, w.leaked())
}

// leaked names a pod that stays although no record wants it.
func (w *cluster) leaked() string {
	if p := w.find("new"); p != nil && p.gate {
		return "the copy stays behind its gate"
	}
	return ""
}

// For any actions of two movers, in any order, by what they have read at any time: the job ends exactly once, never runs twice at a time, and
// nothing is left over.
func TestModel(t *testing.T) {
	ends := histories(t, func(seed uint64) (string, error) {
		w, err := history(seed)
		if err != nil {
			err = fmt.Errorf("%w: %+v", err, w.record)
		}
		return string(w.record.State), err
	})
	require.Greater(t, ends[string(move.Done)], ends["all"]/10, "many moves succeed")
	require.Greater(t, ends[string(move.Aborted)], ends["all"]/10, "many do not")
}
