package node

import (
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// leavingFor is how long a slot may wait for the processes of its last job. Kubelet has killed them long before.
const leavingFor = 10 * time.Minute

// slots tracks the slots of the node, the directories with a socket that are mounted into containers. A slot serves one
// job at a time.
type slots struct {
	wanted map[string]growth.PodUID // the job that each slot should serve
	owners map[string]growth.PodUID // the job that each open slot serves
	last   map[string]service       // the job that each closed slot has served, for a while
}

// service is the job that a slot has served until it was closed.
type service struct {
	job   growth.PodUID
	ended time.Time
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
// is closed first: the new job must not receive what was sent to the old one. It opens once the old one has no processes: those
// of a pod that is deleted by force may run on while kubelet gives its devices, and so its slot, to the next pod.
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
			n.slots.last[slot] = service{job: n.slots.owners[slot], ended: n.now}
			delete(n.slots.owners, slot)
		}
	}
	n.slots.wanted = wanted
	n.out.Open = slices.Sorted(maps.Keys(wanted))
	n.out.Leaving = n.leaving()
	for uid := range n.ended {
		if !listed[uid] && n.synced {
			delete(n.ended, uid)
		}
	}
}

// leaving returns the slots that another job should get than the one that they have served lately, with that one.
func (n *Node) leaving() map[string]growth.PodUID {
	maps.DeleteFunc(n.slots.last, func(_ string, last service) bool { return n.now.Sub(last.ended) >= leavingFor })
	left := map[string]growth.PodUID{}
	for slot, last := range n.slots.last {
		if wanted := n.slots.wanted[slot]; wanted != "" && wanted != last.job {
			left[slot] = last.job
		}
	}
	return left
}

func (e SlotsOpened) apply(n *Node) {
	for _, slot := range e.Slots {
		owner, wanted := n.slots.wanted[slot]
		if !wanted || n.slots.owners[slot] == owner {
			continue
		}
		n.slots.owners[slot] = owner
		delete(n.slots.last, slot)
		if j := n.jobs[owner]; j != nil {
			n.deliver(j)
		}
	}
	n.sendTurns()
}

// Slots returns the open slots of a pod, sorted.
func (n *Node) Slots(uid growth.PodUID) []string {
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
