package reconcile

import (
	"cmp"
	"context"
	"slices"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
)

// gracePasses is the number of consecutive passes in which a pod must be without a reservation. For a few passes that may
// only mean that the watch of the bus lags behind the watch of the API server.
const gracePasses = 10

// reserve reserves GPUs for bound pods that kubelet has not admitted yet and that have lost their reservation: the
// reservation expired, or the replica that assumed it in memory stopped.
func (r *Reconciler) reserve(ctx context.Context, snapshot *cache.Snapshot, node *cache.NodeInfo, unreserved map[growth.PodUID]int) {
	for _, uid := range node.Drift.Unreserved {
		unreserved[uid] = r.unreserved[uid] + 1
		if unreserved[uid] < gracePasses {
			continue
		}
		r.plan(ctx, snapshot, node, uid, "unreserved", unreserved[uid] == gracePasses)
	}
}

// relieve moves reservations away from over-committed GPUs. The youngest pod moves first, because kubelet admits pods in
// the order of their creation.
func (r *Reconciler) relieve(ctx context.Context, snapshot *cache.Snapshot, node *cache.NodeInfo) {
	for _, gpu := range node.Drift.OverCommitted {
		for _, uid := range movable(node, gpu) {
			if r.plan(ctx, snapshot, node, uid, "overdrawn", false) {
				break // the next pass does the rest
			}
		}
	}
}

// movable returns the bound pods with a reservation on the GPU and without an allocation, youngest first.
func movable(node *cache.NodeInfo, gpu growth.GPU) []growth.PodUID {
	var pods []growth.PodUID
	for uid, reserved := range node.Reservations {
		_, allocated := node.Allocations[uid]
		_, bound := node.Bound[uid]
		on := slices.ContainsFunc(reserved.GPUs, func(share growth.GPUShare) bool { return share.GPU == gpu })
		if on && bound && !allocated {
			pods = append(pods, uid)
		}
	}
	slices.SortFunc(pods, func(a, b growth.PodUID) int {
		return cmp.Or(node.Reservations[b].Created.Compare(node.Reservations[a].Created), cmp.Compare(a, b))
	})
	return pods
}

// plan makes a new reservation for a bound pod, and reports whether that succeeded.
func (r *Reconciler) plan(ctx context.Context, snapshot *cache.Snapshot, node *cache.NodeInfo, uid growth.PodUID, kind string, warn bool) bool {
	pod, known := snapshot.Pods.Get(uid)
	if !known || pod.Ended {
		return false
	}
	written, _, err := r.Reserver.Reserve(ctx, *pod, node.Name)
	if err != nil {
		if warn {
			r.Log.Warn("no reservation can be made for a bound pod: kubelet decides", "pod", pod.Ref, "node", node.Name, "err", err)
		}
		return false
	}
	r.Repaired(kind)
	r.Log.Info("reserved again", "pod", pod.Ref, "node", node.Name, "drift", kind, "gpus", request.Annotation(written.GPUs))
	return true
}
