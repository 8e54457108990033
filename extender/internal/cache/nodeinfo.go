package cache

import (
	"maps"

	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// NodeInfo is one node of a snapshot. It is immutable.
type NodeInfo struct {
	placement.Node
	// Unschedulable is why the node has no GPU memory for any pod. It is empty where it has.
	Unschedulable string
	Reservations  map[growth.PodUID]reservations.Versioned
	Allocations   map[growth.PodUID]bus.Allocation
	// Bound are the running pods whose annotation names GPUs of the node.
	Bound map[growth.PodUID]placement.BoundPod
	// Drift is where plans differ from reality.
	Drift placement.Drift
	// Mismatch is where kubelet's allocations differ from the plans.
	Mismatch placement.Mismatch
	// Published is the revision of the inventory. RemovedGPUs had an epoch and are not in it.
	Published   bus.Revision
	RemovedGPUs []growth.GPU

	// expected is the node without pods that have ended; nil if there are none.
	expected *placement.Node
	// records are what the node was made of, without its jobs.
	records placement.Records
	// refused is the number of the node's records that this version cannot read.
	refused int
}

// Expected returns the node as its records will describe it once its device plugin has removed the pods that have ended.
// Kubelet frees their devices at once. kube-scheduler retries a waiting pod when another one ends, and then possibly not
// for minutes, so Filter must not say that the node is still full. Nothing is reserved on this: Bind uses the records.
func (n *NodeInfo) Expected() placement.Node {
	if n.expected != nil {
		return *n.expected
	}
	return n.Node
}

// expect removes ended pods from the expected node.
func (n *NodeInfo) expect(ended map[growth.PodUID]struct{}, jobs placement.Jobs) {
	if n.Unschedulable != "" {
		return
	}
	records := n.records
	records.Jobs = jobs
	records.Allocations = maps.Clone(records.Allocations)
	records.Reservations = maps.Clone(records.Reservations)
	for pod := range ended {
		delete(records.Allocations, pod)
		if !records.Reservations[pod].Held { // for the pod that continues its job
			delete(records.Reservations, pod)
		}
	}
	n.expected = new(placement.NewNode(n.Name, records))
}

// Inventory returns what the node's device plugin publishes, the zero value without one.
func (n *NodeInfo) Inventory() bus.NodeGPUs { return n.records.Inventory }

// updateMismatch finds mismatches, given those of the node's previous version.
func (n *NodeInfo) updateMismatch(before *NodeInfo) {
	switch {
	case n == nil:
	case before == nil:
		n.Mismatch = placement.Mismatch{}.Update(placement.Records{}, n.records)
	default:
		n.Mismatch = before.Mismatch.Update(before.records, n.records)
	}
}

// refusals returns the number of unreadable records. It is zero for nil.
func (n *NodeInfo) refusals() int {
	if n == nil {
		return 0
	}
	return n.refused
}

// newNodeInfo makes a node of its records.
func newNodeInfo(
	name growth.NodeName, from *reservations.NodeRecords, bound map[growth.PodUID]placement.BoundPod,
	jobs placement.Jobs,
) *NodeInfo {
	n := &NodeInfo{
		Node:         placement.Node{Name: name, CPU: from.CPU},
		Reservations: from.Reservations,
		Allocations:  from.Allocations,
		Bound:        bound,
		Published:    from.Published,
		RemovedGPUs:  from.RemovedGPUs(),
		refused:      len(from.Refused),
	}
	reserved := make(map[growth.PodUID]bus.Reservation, len(from.Reservations))
	for pod, r := range from.Reservations {
		reserved[pod] = r.Reservation
	}
	n.records = placement.Records{Allocations: from.Allocations, Reservations: reserved, Bound: bound, CPU: from.CPU}
	if from.Inventory == nil {
		n.Unschedulable = "no live device plugin on the node"
		if err, refused := from.Refused[bus.GPUsKey(name)]; refused {
			n.Unschedulable = "the node's device plugin cannot be understood: " + err.Error()
		}
		return n
	}
	n.records.Inventory = *from.Inventory
	records := n.records
	records.Jobs = jobs // not in n.records: it reads state that changes
	n.Node = placement.NewNode(name, records)
	n.Drift = placement.FindDrift(n.Node, records)
	if from.Inventory.Unheard {
		n.Unschedulable = "the node's kubelet does not listen to its device plugin just now: it would refuse the pod"
	}
	return n
}
