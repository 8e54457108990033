package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/resize"
)

func (e PodAccounted) apply(n *Node) {
	if e.CPU == 0 {
		delete(n.accounted, e.Pod)
		return
	}
	n.accounted[e.Pod] = e.CPU
}

// room returns the CPU that the jobs that share may request together: what the node can allocate, without the requests of
// all other pods. It is false if that is unknown.
//
// Kubelet refuses a pod with the status OutOfcpu if the node is full when the pod arrives. Whenever the jobs request less
// than they once did, because one of them has ended or was reduced, the scheduler may give the difference to other pods.
// The jobs must not take it back then.
func (n *Node) room(jobs []*job) (growth.MilliCPU, bool) {
	if n.allocatable == 0 || len(n.accounted) == 0 {
		return 0, false
	}
	room := n.allocatable
	for _, cpu := range n.accounted {
		room -= cpu
	}
	for _, j := range jobs {
		room += n.accounted[j.pod.Ref.UID]
	}
	return room, true
}

// available returns the part of the pool that the jobs may divide: no more than the node has room for, but at least what
// they request already.
func (n *Node) available(jobs []*job, pool growth.MilliCPU) growth.MilliCPU {
	room, known := n.room(jobs)
	if !known || room >= pool {
		return pool
	}
	held := growth.MilliCPU(0)
	for _, j := range jobs {
		held += j.pod.Total(j.pod.Requests())
	}
	return min(pool, max(room, held))
}

// fit drops increases, the largest first, until the requests of the jobs fit into the node. The jobs may always keep what
// they request already.
func (n *Node) fit(jobs []*job, changes []resize.Change, made []bool) {
	room, known := n.room(jobs)
	if !known {
		return
	}
	sum, held := growth.MilliCPU(0), growth.MilliCPU(0)
	for i, c := range changes {
		held += c.From
		if made[i] {
			sum += c.To
		} else {
			sum += c.From
		}
	}
	for sum > max(room, held) {
		i := largestIncrease(changes, made)
		if i < 0 {
			return
		}
		made[i] = false
		sum -= changes[i].To - changes[i].From
		jobs[i].decisions.SetOutcome(fmt.Sprintf("the request stays %s: the node has no room for %s, because other pods have taken it",
			changes[i].From, changes[i].To))
	}
}

// largestIncrease returns the index of the largest increase that is made; -1 if there is none.
func largestIncrease(changes []resize.Change, made []bool) int {
	largest := -1
	for i, c := range changes {
		if !made[i] || c.To <= c.From {
			continue
		}
		if largest < 0 || c.To-c.From > changes[largest].To-changes[largest].From {
			largest = i
		}
	}
	return largest
}
