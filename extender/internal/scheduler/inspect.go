package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// Inspect shows who is on which GPU, of one node or, where it has no name, of all that have GPUs. Its errors are sentences
// in the answer.
func (d *Decider) Inspect(name growth.NodeName) aliyun.Inspection {
	snapshot := d.View.Snapshot()
	shown := aliyun.Inspection{Nodes: []aliyun.Node{}}
	if !snapshot.Synced {
		shown.Error = errUnsynced.Error()
		return shown
	}
	if name != "" {
		here := snapshot.Node(name)
		switch {
		case here == nil:
			shown.Error = fmt.Sprintf("nothing is known about node %.253s", name)
		case here.Obstacle != "":
			shown.Error = fmt.Sprintf("node %s: %s", name, here.Obstacle)
		default:
			shown.Nodes = append(shown.Nodes, inspect(snapshot, here))
		}
		return shown
	}
	for _, here := range snapshot.Nodes.All() {
		if here.Obstacle == "" {
			shown.Nodes = append(shown.Nodes, inspect(snapshot, here))
		}
	}
	slices.SortFunc(shown.Nodes, func(a, b aliyun.Node) int { return cmp.Compare(a.Name, b.Name) })
	return shown
}

// inspect shows one node. A pod that the API server has not told of (any more) bears the name that its record on the bus has.
func inspect(snapshot *cache.Snapshot, here *cache.Node) aliyun.Node {
	return aliyun.Inspect(here.Node, here.Inventory(), func(uid growth.PodUID) growth.PodRef {
		if pod, known := snapshot.Pods.Get(uid); known {
			return pod.Ref
		}
		if allocation, known := here.Allocations[uid]; known {
			return allocation.Pod
		}
		return here.Reservations[uid].Pod
	})
}
