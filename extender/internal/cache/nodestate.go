package cache

import (
	"maps"

	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// nodeState is what the sources have delivered about one node.
type nodeState struct {
	records *reservations.NodeRecords
	bound   map[growth.PodUID]placement.BoundPod
	// ended are the pods that have ended or were deleted, while the records still have them.
	ended map[growth.PodUID]struct{}
	// registered is true if the API server has the node, unlabelled if it has it without the label for shared GPUs.
	registered, unlabelled bool
	// shared is true while a NodeInfo has the same bound.
	shared bool
}

// unshare copies bound before a change if a NodeInfo has it.
func (n *nodeState) unshare() {
	if n.shared || n.bound == nil {
		n.bound, n.shared = maps.Clone(n.bound), false
	}
	if n.bound == nil {
		n.bound = map[growth.PodUID]placement.BoundPod{}
	}
}

func (n *nodeState) empty() bool {
	r := n.records
	return !n.registered && r.Inventory == nil &&
		len(n.bound)+len(r.Allocations)+len(r.Reservations)+len(r.Epochs)+len(r.Refused) == 0
}

func (n *nodeState) addEnded(pod growth.PodUID) {
	if n.ended == nil {
		n.ended = map[growth.PodUID]struct{}{}
	}
	n.ended[pod] = struct{}{}
}
