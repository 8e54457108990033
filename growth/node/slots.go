package node

import (
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// slots tracks the slots of the node, the directories with a socket that are mounted into containers. A slot serves one
// job at a time.
type slots struct {
	wanted map[string]growth.PodUID // the job that each slot should serve
	owners map[string]growth.PodUID // the job that each open slot serves
}

func (e AllocationsChanged) apply(n *Node) {
	n.allocations, n.synced = e.Allocations, e.Synced
	n.syncSlots()
	for _, j := range n.sorted() {
		n.announceArrival(j, true)
	}
	for _, uid := range slices.Sorted(maps.Keys(n.assignments)) {
		n.annotateGPUs(n.assignments[uid])
	}
}

// syncSlots opens the slots of all allocated containers and closes those of ended jobs. A slot that gets another owner
// is closed first: the new job must not receive what was sent to the old one.
func (n *Node) syncSlots() {
	wanted := map[string]growth.PodUID{}
	listed := map[growth.PodUID]bool{}
	for _, a := range n.allocations {
		uid := a.Pod.UID
		listed[uid] = true
		if n.ended[uid] {
			continue
		}
		for _, c := range a.Containers {
			if c.Slot != "" && (wanted[c.Slot] == "" || n.jobs[uid] != nil) {
				wanted[c.Slot] = uid
			}
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(n.slots.owners)) {
		if wanted[slot] != n.slots.owners[slot] {
			n.out.Close = append(n.out.Close, slot)
			delete(n.slots.owners, slot)
		}
	}
	n.slots.wanted = wanted
	n.out.Open = slices.Sorted(maps.Keys(wanted))
	for uid := range n.ended {
		if !listed[uid] && n.synced {
			delete(n.ended, uid)
		}
	}
}

func (e SlotsOpened) apply(n *Node) {
	for _, slot := range e.Slots {
		owner, wanted := n.slots.wanted[slot]
		if !wanted || n.slots.owners[slot] == owner {
			continue
		}
		n.slots.owners[slot] = owner
		if j := n.jobs[owner]; j != nil {
			n.deliver(j)
		}
	}
	n.sendTurns()
}

// slotsOf returns the open slots of a job.
func (n *Node) slotsOf(uid growth.PodUID) []string {
	var open []string
	for slot, owner := range n.slots.owners {
		if owner == uid {
			open = append(open, slot)
		}
	}
	slices.Sort(open)
	return open
}

// jobOf returns the job that an open slot serves, or nil.
func (n *Node) jobOf(slot string) *job { return n.jobs[n.slots.owners[slot]] }
