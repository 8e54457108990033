package modelcheck

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

// truth returns a node by the authoritative records, as if its device plugin were running.
func (h *harness) truth(k *kubelet) placement.Node {
	stored := h.nodeRecords[k.node]
	records := placement.Records{
		Inventory:    bus.NodeGPUs{Unit: growth.GiB},
		Allocations:  stored.Allocations,
		Reservations: map[growth.PodUID]bus.Reservation{},
		Bound:        map[growth.PodUID]placement.BoundPod{},
	}
	for _, g := range k.gpus() {
		records.Inventory.GPUs = append(records.Inventory.GPUs, bus.GPU{UUID: g, Memory: k.memory[g], Healthy: !k.unhealthy[g]})
	}
	for uid, r := range stored.Reservations {
		records.Reservations[uid] = r.Reservation
	}
	for _, p := range h.api.list(func(p request.Pod) bool { return running(p) && p.Node == k.node }) {
		records.Bound[p.Ref.UID] = placement.BoundPod{GPUs: p.GPUs, Request: p.Request}
	}
	return placement.NewNode(k.node, records)
}

// check checks the invariants that hold after every step.
func (h *harness) check() {
	for _, r := range h.replicas {
		for uid := range r.assumed.AllPending() {
			h.excused[uid] = true
		}
	}
	for _, k := range h.kubelets {
		for _, g := range k.gpus() {
			if k.free(g) < 0 {
				h.fail("kubelet: %s was allocated twice", g)
			}
		}
		for _, g := range h.truth(k).GPUs {
			var used, excused growth.MiB
			for _, resident := range g.Residents {
				used += resident.Memory
				if h.excused[resident.Pod] {
					excused += resident.Memory
				}
			}
			if used < 0 || used-excused > g.Memory {
				h.fail("balance: %s of %s used on %s, %s of it excused", used, g.Memory, g.UUID, excused)
			}
		}
		for key, err := range h.nodeRecords[k.node].Refused {
			h.fail("record: %s: %v", key, err)
		}
		for uid, r := range h.nodeRecords[k.node].Reservations {
			if r.Pod.UID != uid {
				h.fail("record: the reservation of %s has the key of %s", r.Pod.UID, uid)
			}
		}
	}
	for _, p := range h.api.list(running) {
		if len(p.GPUs) != p.Request.Count {
			h.fail("binding: %s is bound with %v", p.Ref, p.GPUs)
		}
	}
}

// settle brings everything to rest, without a fault, and checks the invariants that hold then.
func (h *harness) settle(_, _, _ int) {
	if h.busDown {
		h.toggle(0, 0, 0)
	}
	for _, k := range h.kubelets {
		if k.pluginDown {
			h.plugin(slices.Index(h.kubelets, k), 0, 0)
		}
	}
	for range 2 {
		h.rest()
		h.advance(time.Second)
		for range int(reservations.Lifetime/lag) + 1 {
			h.advance(lag)
		}
	}
	h.rest()
	if h.failure == "" {
		h.atRest()
	}
	if h.failure == "" {
		h.bindable()
	}
}

// rest completes all work that has started or is due.
func (h *harness) rest() {
	for range 14 { // more than the grace passes of a reconciler
		h.finish()
		for i, k := range h.kubelets {
			for h.readBus(); h.admitOne(k, false); h.readBus() {
			}
			h.reap(i, 0, 0)
			for h.recordOne(k, false) {
				h.readBus()
			}
		}
		if !h.faults.noReconcile {
			h.reconcile(0, 0, 0)
			h.finish()
			h.reconcile(1, 0, 0)
			h.finish()
		}
	}
}

// finish completes all coroutines and delivers all events.
func (h *harness) finish() {
	for len(h.work) > 0 {
		h.work[0].resume(succeeded)
		h.readBus()
	}
	for _, r := range h.replicas {
		r.catchUp(h.now)
	}
}

// atRest checks the invariants that hold at rest.
func (h *harness) atRest() {
	for i, r := range h.replicas {
		if n := r.assumed.PendingCount(); n > 0 {
			h.fail("rest: replica %d still has %d pending reservations", i, n)
		}
		for _, k := range h.kubelets {
			info, truth := r.cache.Snapshot().Node(k.node), h.truth(k)
			if len(h.nodeRecords[k.node].Reservations) > 0 {
				h.fail("rest: %s has reservations that are not needed", k.node)
			}
			if !info.Drift.Empty() {
				h.fail("rest: drift on %s: %+v", k.node, info.Drift)
			}
			if over := truth.OverCommitted(); over > 0 {
				h.fail("rest: %s over-committed on %s", over, k.node)
			}
			if got, want := describe(info.Node), describe(truth); got != want {
				h.fail("rest: replica %d has %s, want %s", i, got, want)
			}
		}
	}
}

func describe(n placement.Node) string {
	text := ""
	for _, g := range n.GPUs {
		text += fmt.Sprintf("%s healthy=%v", g.UUID, g.Healthy)
		for _, r := range g.Residents {
			text += fmt.Sprintf(" %s:%s", r.Pod, r.Memory)
		}
		text += "; "
	}
	return text
}

// bindable binds every pod that fits, one after the other: room by the records must be room for the extender.
func (h *harness) bindable() {
	for _, p := range h.api.list(unbound) {
		for i, k := range h.kubelets {
			if !placement.Fit(h.truth(k), p.Request).Fits() {
				continue
			}
			var err error
			r := h.replicas[i%len(h.replicas)]
			h.begin(r, bindTimeout, func() { err = r.scheduler.Bind(ctx, p.Ref, k.node) })
			h.finish()
			if err != nil {
				h.fail("rest: %s fits %s and is not bound: %v", p.Ref, k.node, err)
			}
			h.check()
			break
		}
	}
}
