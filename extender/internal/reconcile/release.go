package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// release releases the node's reservations that are not needed any more.
func (r *Reconciler) release(ctx context.Context, snapshot *cache.Snapshot, node *cache.NodeInfo) {
	for _, uid := range slices.Sorted(maps.Keys(node.Reservations)) {
		reservation := node.Reservations[uid]
		kind, reason := r.obsolete(ctx, snapshot, node, uid, reservation)
		if reason == "" {
			continue
		}
		ref := growth.PodRef{Namespace: reservation.Pod.Namespace, Name: reservation.Pod.Name, UID: uid}
		err := r.Store.Release(ctx, node.Name, ref, reservation.Revision)
		switch {
		case errors.Is(err, bus.ErrConflict): // written again, or another replica was faster
		case err != nil:
			r.Log.Warn("a reservation could not be released", "pod", ref, "node", node.Name, "err", err)
		default:
			if kind != "" {
				r.Repaired(kind)
			}
			r.Log.Info("reservation released", "pod", ref, "node", node.Name, "reason", reason)
		}
	}
}

// obsolete returns why a reservation is not needed any more, or "" if it is needed. kind is the kind of drift, or "" if the
// reservation has only served its purpose.
func (r *Reconciler) obsolete(
	ctx context.Context, snapshot *cache.Snapshot, node *cache.NodeInfo, uid growth.PodUID, reservation reservations.Versioned,
) (kind, reason string) {
	if reservation.Held {
		return "", "" // the mover releases it, or it expires
	}
	pod, known := snapshot.Pods.Get(uid)
	allocation, allocated := node.Allocations[uid]
	switch {
	case !known && r.gone(ctx, reservation.Pod, uid):
		return "orphaned", "its pod is gone"
	case !known:
		return "", ""
	case pod.Ended:
		return "orphaned", "its pod has ended"
	case pod.Node != "" && pod.Node != node.Name:
		return "orphaned", "its pod is on another node"
	case !allocated || !placement.FullyAllocated(allocation, reservation.Reservation):
		return "", ""
	case slices.Contains(node.Drift.Misplaced, uid):
		return "stray", "kubelet has allocated elsewhere"
	}
	return "", "kubelet has allocated"
}
