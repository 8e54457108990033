package move_test

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth/move"
)

// What the cluster of the model does by itself: controllers, training, coordinators and disturbances.

// control is what the controller of a rank does.
func (w *gangCluster) control(r *rank) {
	if r.old != nil && r.old.owned != r.old.label && !r.old.terminating {
		r.old.owned = r.old.label
		r.old.version++
	}
	has := r.old != nil && r.old.owned && !r.old.terminating && !r.broken
	r.finished = r.finished || has && r.old.ended || r.new != nil && r.new.ended
	switch {
	case has && r.new != nil && r.new.node == "":
		r.new = nil
	case !has && r.new == nil && !r.finished:
		r.new = &pod{name: "new"}
	}
}

// runs returns the pods that train, and whether each rank has one.
func (w *gangCluster) runs() (pods []*pod, all bool) {
	for _, r := range w.ranks {
		for _, p := range []*pod{r.old, r.new} {
			if p != nil && p.running && !p.terminating {
				pods = append(pods, p)
			}
		}
	}
	return pods, len(pods) == len(w.ranks)
}

// train makes a step, if all ranks run.
func (w *gangCluster) train() {
	pods, all := w.runs()
	held := w.held && slices.ContainsFunc(pods, func(p *pod) bool { return p.name == "old" })
	if !all || held {
		return
	}
	if w.step++; w.step < total {
		return
	}
	for _, p := range pods {
		p.running, p.ended = false, true
		w.endedBefore = w.endedBefore || p.name == "old"
	}
	w.ends++
}

// coordinate is what the coordinators do: they hold the job, and save at one step.
func (w *gangCluster) coordinate() {
	w.held = slices.ContainsFunc(w.ranks, func(r *rank) bool { return r.record.Wants().Hold })
	if _, all := w.runs(); w.held && all && w.saved == nil && w.failed == "" {
		if w.dice.IntN(12) == 0 {
			w.failed = "disk full"
			return
		}
		w.disk = w.step
		w.saved = &move.Checkpoint{Path: "p", SHA256: "s", Step: w.step}
	}
	r := w.ranks[w.dice.IntN(len(w.ranks))] // an answer arrives
	r.answer, r.failed = w.saved, w.failed
	if w.saved != nil && !w.calm && w.dice.IntN(60) == 0 {
		r.answer = &move.Checkpoint{Path: "p", SHA256: "s", Step: w.saved.Step + 1} // as if it were another job
	}
}

// live is what the rest of the cluster does.
func (w *gangCluster) live() {
	r := w.ranks[w.dice.IntN(len(w.ranks))]
	switch w.dice.IntN(10) {
	case 0:
		w.coordinate()
	case 1, 2:
		w.train()
	case 3:
		w.disturb(r)
	case 4:
		w.remove(r)
	case 5: // the scheduler
		gone := !slices.ContainsFunc(w.ranks, func(r *rank) bool { return r.old != nil })
		if p := r.new; p != nil && !p.gate && p.node == "" && !r.record.Place(gone).Wait {
			p.node = "elsewhere"
			if r.reserved {
				p.node = r.record.To
			}
		}
	case 6:
		if p := r.new; p != nil && p.node != "" && !p.running && !p.ended {
			p.running, w.step = true, w.disk // all ranks start from the checkpoint
		}
	case 7:
		w.budget = !w.calm && w.dice.IntN(3) == 0
		w.full = !w.calm && w.dice.IntN(4) == 0
		w.lost = w.lost || !w.calm && w.dice.IntN(60) == 0
	case 8:
		if !w.bare {
			w.control(r)
		}
	case 9:
		w.now = w.now.Add(time.Duration(w.dice.IntN(40)) * time.Second)
	}
}

// disturb lets something fail: a coordinator, a process, or a pod of a rank, which has a controller that replaces it.
func (w *gangCluster) disturb(r *rank) {
	if w.calm {
		return
	}
	w.held = w.held && w.dice.IntN(3) > 0
	switch w.dice.IntN(20) {
	case 0:
		w.breakOld(r)
	case 1: // a process: kubelet starts it again, and all ranks continue from their checkpoint
		w.step = min(w.step, w.disk)
	case 2:
		if p := r.new; p != nil && !w.bare && r.old == nil && !p.ended {
			r.new = nil // somebody deletes it
			r.deleted++
		}
	}
}

// breakOld lets the old pod of a rank fail, or somebody deletes it.
func (w *gangCluster) breakOld(r *rank) {
	if w.bare || r.old == nil || !r.old.running {
		return
	}
	if w.dice.IntN(2) == 0 {
		r.old = nil
		return
	}
	r.old.running, r.old.ended, r.broken = false, true, true
	r.old.version++
}

// remove removes an old pod that has ended.
func (w *gangCluster) remove(r *rank) {
	o := r.old
	switch {
	case o == nil:
	case o.terminating, o.ended && (o.owned || w.bare && r.record.Ended):
		r.finished = r.finished || o.ended && !r.broken
		r.old = nil
	}
}
