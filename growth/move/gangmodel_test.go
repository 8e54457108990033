package move_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
)

// gangCluster has one job of several pods. It makes a step while one pod of each rank runs, and has ended after total. Two movers act
// on it by what they have read, however long ago that was.
type gangCluster struct {
	dice  *rand.Rand
	now   time.Time
	ranks []*rank
	bare  bool

	step, disk int64
	saved      *move.Checkpoint // what the job has answered, before its pods say so
	failed     string

	held, budget, full, lost bool
	calm                     bool // nothing fails any more
	committed                bool
	ends                     int
	endedBefore              bool // by the old pods
}

// rank is one rank of the job: its pods, old and new, and the record of its move.
type rank struct {
	record   move.Record
	rev      int
	old, new *pod
	broken   bool // the old pod has failed
	deleted  int  // new pods
	finished bool // its controller has seen that a pod of the rank has ended
	answer   *move.Checkpoint
	failed   string
	reserved bool
}

type gangView struct {
	records  []move.Record
	revs     []int
	seen     []move.Seen
	versions []int
	owned    []bool
}

func newGangCluster(seed uint64) *gangCluster {
	w := &gangCluster{dice: rand.New(rand.NewPCG(seed, 11)), now: time.Unix(1000, 0)}
	w.bare = w.dice.IntN(3) == 0
	w.step = w.dice.Int64N(total)
	gang := &move.Gang{}
	detach := !w.bare && w.dice.IntN(3) > 0
	for i := range 2 + w.dice.IntN(2) {
		name := fmt.Sprint(i)
		gang.Pods = append(gang.Pods, growth.PodUID("old-"+name))
		r := &rank{old: &pod{name: "old", node: growth.NodeName("a" + name), running: true, label: !w.bare, owned: !w.bare}}
		r.record = move.Record{
			ID: "m", Old: growth.PodUID("old-" + name), Bare: w.bare, Detach: detach, From: r.old.node, To: "b", State: move.Proposed,
			Since: w.now, Began: w.now, Gang: gang,
		}
		if w.dice.IntN(2) == 0 {
			r.record.To = r.record.From // it starts again where it is
		}
		w.ranks = append(w.ranks, r)
	}
	return w
}

// look returns what a mover reads now.
func (w *gangCluster) look() gangView {
	n := len(w.ranks)
	v := gangView{make([]move.Record, 0, n), make([]int, 0, n), make([]move.Seen, 0, n), make([]int, 0, n), make([]bool, 0, n)}
	for i, r := range w.ranks {
		s := move.Seen{Checkpoint: r.answer, SaveFailed: r.failed, Reserved: r.reserved}
		version := 0
		if o := r.old; o != nil {
			s.Old = &move.Pod{UID: r.record.Old, Node: o.node, Ended: o.ended && !o.terminating, Failed: r.broken}
			s.Permission, version = o.permission, o.version
			s.Attached = o.label && o.owned
		}
		if w.budget {
			s.Refused = "a budget"
		}
		if w.lost && i == 0 {
			s.TargetLost = "the target is full"
		}
		if p := r.new; p != nil {
			s.New = &move.Pod{UID: growth.PodUID(fmt.Sprint("new-", i, "-", r.deleted)), Node: p.node, Ended: p.ended}
			if p.running || p.ended {
				s.Step = w.step
			}
		}
		v.records, v.revs = append(v.records, r.record), append(v.revs, r.rev)
		v.seen, v.versions = append(v.seen, s), append(v.versions, version)
		v.owned = append(v.owned, r.old != nil && r.old.owned)
	}
	v.seen = move.WithOthers(v.seen)
	return v
}

// write replaces the records in one transaction, if no other mover has replaced one.
func (w *gangCluster) write(v *gangView) error {
	next := move.DefaultLimits().Together(v.records, v.seen, w.now)
	for i, r := range w.ranks {
		if r.rev != v.revs[i] {
			return nil
		}
	}
	for i, r := range w.ranks {
		if next[i] != r.record {
			r.rev++
		}
		r.record, v.records[i], v.revs[i] = next[i], next[i], r.rev
	}
	if w.committed || slices.ContainsFunc(w.ranks, func(r *rank) bool { return !r.saved() }) {
		return nil
	}
	w.committed = true
	if slices.ContainsFunc(v.seen, func(s move.Seen) bool { return !s.Reserved || s.Refused != "" }) {
		return errors.New("the move is decided before each pod has its memory and may be evicted")
	}
	return nil
}

// saved reports whether the record is past the save.
func (r *rank) saved() bool {
	return r.record.State != move.Proposed && r.record.State != move.Saving && r.record.Checkpoint != nil
}

// mayEvict reports whether a mover that has read v may evict the old pod of a rank.
func (v gangView) mayEvict(i int) bool {
	for k, r := range v.records {
		s := v.seen[k]
		ended := s.Old == nil || s.Old.Ended && !s.Old.Failed
		if k != i && !ended && (s.Permission != move.Granted || r.Detach && v.owned[k]) {
			return false
		}
	}
	return v.seen[i].Permission == move.Granted && (!v.records[i].Detach || !v.owned[i])
}

// act does one of the things that a mover wants by what it has read.
func (w *gangCluster) act(v gangView) error {
	i := w.dice.IntN(len(w.ranks))
	r, wants := w.ranks[i], v.records[i].Wants()
	old, current := r.old, r.old != nil && r.old.version == v.versions[i] && !r.old.terminating
	switch w.dice.IntN(6) {
	case 0:
		if !wants.Target {
			r.reserved = false
		} else if !w.full {
			r.reserved = true
		}
	case 1:
		if current && wants.Grant && old.permission == move.None {
			old.permission = move.Granted
			old.version++
		}
		if current && wants.Withdraw && old.permission != move.Withdrawn {
			old.permission = move.Withdrawn
			old.version++
		}
	case 2:
		if current && wants.Evict && v.mayEvict(i) && (old.running || r.broken) && !w.budget && (!w.bare || r.new != nil) {
			if !w.committed {
				return errors.New("a pod is evicted before all have saved")
			}
			old.terminating = true
			old.version++
		}
	case 3:
		if wants.Copy && r.new == nil && old != nil {
			r.new = &pod{name: "new", gate: true}
		} else if wants.Drop && r.new != nil && r.new.gate {
			r.new = nil
		}
	case 4:
		if wants.Open && r.new != nil {
			r.new.gate = false
		}
	case 5:
		if current && (wants.Detach && v.seen[i].Permission == move.Granted && old.label || wants.Attach && !old.label) {
			old.label = !old.label
			old.version++
		}
	}
	return nil
}

func (w *gangCluster) check() error {
	old, next := 0, 0
	for _, r := range w.ranks {
		oldRuns, newRuns := r.old != nil && r.old.running, r.new != nil && r.new.running
		if oldRuns && newRuns {
			return fmt.Errorf("%s runs twice at a time", r.record.Old)
		}
		if newRuns && r.new.gate {
			return errors.New("a copy runs behind its gate")
		}
		if oldRuns {
			old++
		}
		if newRuns {
			next++
		}
	}
	if w.committed && old > 0 && next > 0 {
		return errors.New("new pods run while old ones do")
	}
	if w.ends > 1 {
		return fmt.Errorf("the job has ended %d times", w.ends)
	}
	return nil
}

// settled returns what is not as it must be at the end, or "".
func (w *gangCluster) settled() string {
	gone := 0
	for _, r := range w.ranks {
		switch {
		case !r.record.State.Final():
			return "a move has not ended"
		case r.reserved:
			return "a reservation is left"
		case r.new != nil && r.new.gate:
			return "a copy stays behind its gate"
		case r.record.State == move.Aborted && r.old != nil && !w.bare && !r.old.owned:
			return "an old pod has not returned to its owner"
		case r.record.Gone:
			gone++
		}
	}
	switch {
	case w.ends != 1:
		return "the job has not ended"
	case !w.committed && gone > 0, w.committed && !w.endedBefore && gone < len(w.ranks):
		return fmt.Sprintf("%d of %d pods have moved", gone, len(w.ranks))
	}
	return ""
}

func gangHistory(seed uint64) (*gangCluster, error) {
	w := newGangCluster(seed)
	movers := []gangView{w.look(), w.look()}
	for range 60 + w.dice.IntN(240) {
		i := w.dice.IntN(len(movers))
		m := &movers[i]
		var err error
		switch w.dice.IntN(6) {
		case 0:
			if i == 0 || w.dice.IntN(20) == 0 { // the other one sleeps for long
				*m = w.look()
			}
		case 1:
			err = w.write(m)
		case 2:
			err = w.act(*m)
		default:
			w.live()
		}
		if err = errors.Join(err, w.check()); err != nil {
			return w, err
		}
	}
	w.budget, w.full, w.calm = false, false, true
	for range 10_000 { // now everybody is awake
		m := w.look()
		err := errors.Join(w.write(&m), w.act(m))
		w.live()
		if err = errors.Join(err, w.check()); err != nil {
			return w, err
		}
		if w.settled() == "" {
			return w, nil
		}
	}
	return w, errors.New(w.settled())
}

// For any actions of two movers, in any order, by what they have read at any time: all pods of the job move or none does, none is
// evicted before all have saved, the job ends exactly once, never runs twice at a time, and nothing is left over.
func TestModel_OfAGang(t *testing.T) {
	ends := histories(t, func(seed uint64) (string, error) {
		w, err := gangHistory(seed)
		if err != nil {
			for _, r := range w.ranks {
				err = fmt.Errorf("%w\n%+v old %+v new %+v", err, r.record, r.old, r.new)
			}
		}
		if w.committed {
			return "moved", err
		}
		return "stayed", err
	})
	require.Greater(t, ends["moved"], ends["all"]/10, "many jobs move")
	require.Greater(t, ends["stayed"], ends["all"]/10, "many do not")
}
