package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// Inspect lists the pods on each GPU of a node or, without a name, of all nodes with GPUs. Errors are sentences in the
// answer.
func (s *Scheduler) Inspect(name growth.NodeName) aliyun.Inspection {
	snapshot := s.Cache.Snapshot()
	inspection := aliyun.Inspection{Nodes: []aliyun.Node{}}
	if !snapshot.Synced {
		inspection.Error = errUnsynced.Error()
		return inspection
	}
	if name != "" {
		node := snapshot.Node(name)
		switch {
		case node == nil:
			inspection.Error = fmt.Sprintf("nothing is known about node %.253s", name)
		case node.Unschedulable != "":
			inspection.Error = fmt.Sprintf("node %s: %s", name, node.Unschedulable)
		default:
			inspection.Nodes = append(inspection.Nodes, inspect(snapshot, node))
		}
		return inspection
	}
	for _, node := range snapshot.Nodes.All() {
		if node.Unschedulable == "" {
			inspection.Nodes = append(inspection.Nodes, inspect(snapshot, node))
		}
	}
	slices.SortFunc(inspection.Nodes, func(a, b aliyun.Node) int { return cmp.Compare(a.Name, b.Name) })
	return inspection
}

// inspect lists the pods of one node. A pod that the snapshot does not have gets the name in its record on the bus.
func inspect(snapshot *cache.Snapshot, node *cache.NodeInfo) aliyun.Node {
	return aliyun.Inspect(node.Node, node.Inventory(), func(uid growth.PodUID) growth.PodRef {
		if pod, known := snapshot.Pods.Get(uid); known {
			return pod.Ref
		}
		if allocation, known := node.Allocations[uid]; known {
			return allocation.Pod
		}
		return node.Reservations[uid].Pod
	})
}
