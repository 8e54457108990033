package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// truth is a node by the authoritative records. A node whose device plugin is dead is seen as if it were alive.
func (w *world) truth(k *kubelet) placement.Node {
	books := w.books[k.node]
	records := placement.Records{
		Inventory: bus.NodeGPUs{Unit: growth.GiB}, Allocations: books.Allocations, Reservations: map[growth.PodUID]bus.Reservation{},
		Bound: map[growth.PodUID]placement.BoundPod{},
	}
	for _, g := range k.gpus() {
		records.Inventory.GPUs = append(records.Inventory.GPUs, bus.GPU{UUID: g, Memory: k.memory[g], Healthy: !k.ill[g]})
	}
	for uid, r := range books.Reservations {
		records.Reservations[uid] = r.Reservation
	}
	for _, p := range w.api.list(func(p request.Pod) bool { return running(p) && p.Node == k.node }) {
		records.Bound[p.Ref.UID] = placement.BoundPod{GPUs: p.GPUs, Request: p.Request}
	}
	return placement.NewNode(k.node, records)
}

// check holds at every step.
func (w *world) check() {
	for _, r := range w.replicas {
		for uid := range r.held.All() {
			w.excused[uid] = true
		}
	}
	for _, k := range w.kubes {
		for _, g := range k.gpus() {
			if k.free(g) < 0 {
				w.breaks("kubelet: %s was given out twice", g)
			}
		}
		for _, g := range w.truth(k).GPUs {
			var used, excused growth.MiB
			for _, resident := range g.Residents {
				used += resident.Memory
				if w.excused[resident.Pod] {
					excused += resident.Memory
				}
			}
			if used < 0 || used-excused > g.Memory {
				w.breaks("balance: %s of %s used on %s, %s of it excused", used, g.Memory, g.UUID, excused)
			}
		}
		for key, err := range w.books[k.node].Refused {
			w.breaks("record: %s: %v", key, err)
		}
		for uid, r := range w.books[k.node].Reservations {
			if r.Pod.UID != uid {
				w.breaks("record: the reservation of %s lies at %s", r.Pod.UID, uid)
			}
		}
	}
	for _, p := range w.api.list(running) {
		if len(p.GPUs) != p.Request.Count {
			w.breaks("binding: %s is bound with %v", p.Ref, p.GPUs)
		}
	}
}

// settle lets everything come to rest, without a fault, and checks what holds then.
func (w *world) settle(_, _, _ int) {
	if w.away {
		w.toggle(0, 0, 0)
	}
	for _, k := range w.kubes {
		if k.dead {
			w.plugin(slices.Index(w.kubes, k), 0, 0)
		}
	}
	for range 2 {
		w.rest()
		w.passed(time.Second)
		for range int(reservations.Life/lag) + 1 {
			w.passed(lag)
		}
	}
	w.rest()
	if w.broken == "" {
		w.atRest()
	}
	if w.broken == "" {
		w.bindable()
	}
}

// rest lets all that has begun end, and everybody do what is to be done.
func (w *world) rest() {
	for range 14 { // more than a sweeper's grace
		w.finish()
		for i, k := range w.kubes {
			for w.heard(); w.admits(k, false); w.heard() {
			}
			w.reap(i, 0, 0)
			for w.records(k, false) {
				w.heard()
			}
		}
		if !w.faults.noSweep {
			w.sweep(0, 0, 0)
			w.finish()
			w.sweep(1, 0, 0)
			w.finish()
		}
	}
}

// finish runs all coroutines to their end and delivers everything.
func (w *world) finish() {
	for len(w.work) > 0 {
		w.work[0].resume(good)
		w.heard()
	}
	for _, r := range w.replicas {
		r.catchUp(w.now)
	}
}

// atRest holds when all is quiet.
func (w *world) atRest() {
	for i, r := range w.replicas {
		if n := r.held.Len(); n > 0 {
			w.breaks("rest: replica %d still holds %d reservations", i, n)
		}
		for _, k := range w.kubes {
			here, truth := r.keeper.Snapshot().Node(k.node), w.truth(k)
			if len(w.books[k.node].Reservations) > 0 {
				w.breaks("rest: %s has reservations nobody needs", k.node)
			}
			if !here.Drift.Empty() {
				w.breaks("rest: drift on %s: %+v", k.node, here.Drift)
			}
			if over := truth.OverCommitted(); over > 0 {
				w.breaks("rest: %s over-committed on %s", over, k.node)
			}
			if seen, there := picture(here.Node), picture(truth); seen != there {
				w.breaks("rest: replica %d sees %s, there is %s", i, seen, there)
			}
		}
	}
}

func picture(n placement.Node) string {
	said := ""
	for _, g := range n.GPUs {
		said += fmt.Sprintf("%s healthy=%v", g.UUID, g.Healthy)
		for _, r := range g.Residents {
			said += fmt.Sprintf(" %s:%s", r.Pod, r.Memory)
		}
		said += "; "
	}
	return said
}

// bindable binds what fits, one after the other: a GPU with room in truth is one with room for the extender.
func (w *world) bindable() {
	for _, p := range w.api.list(unbound) {
		for i, k := range w.kubes {
			if !placement.Fit(w.truth(k), p.Request).Fits() {
				continue
			}
			var err error
			r := w.replicas[i%len(w.replicas)]
			w.begin(r, patience, func() { err = r.decider.Bind(ctx, p.Ref, k.node) })
			w.finish()
			if err != nil {
				w.breaks("rest: %s fits %s and is not bound: %v", p.Ref, k.node, err)
			}
			w.check()
			break
		}
	}
}
