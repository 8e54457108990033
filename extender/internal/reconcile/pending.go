package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// writePending writes the pending reservations to the bus. If kubelet or another replica has decided in the meantime, that
// decision counts.
func (r *Reconciler) writePending(ctx context.Context, snapshot *cache.Snapshot) {
	pending := r.Assumed.AllPending()
	for _, uid := range slices.Sorted(maps.Keys(pending)) {
		p := pending[uid]
		pod, known := snapshot.Pods.Get(uid)
		if !known && !r.gone(ctx, p.Pod, uid) {
			continue // the informer has not delivered the pod yet
		}
		log := r.Log.With("pod", p.Pod, "node", p.Node)
		if !known || pod.Ended || pod.Node != "" && pod.Node != p.Node || allocated(snapshot, p, uid) {
			log.Info("a held reservation is not needed any more")
			r.Assumed.ForgetPending(uid, p.Node)
			continue
		}
		written, _, err := r.Reserver.Reserve(ctx, *pod, p.Node)
		switch {
		case errors.Is(err, scheduler.ErrNoRoom):
			log.Warn("a held reservation has no room any more: kubelet decides", "err", err)
		case err != nil:
			log.Warn("a held reservation could not be written", "err", err)
			continue
		default:
			r.Repaired("held")
			log.Info("a held reservation is written", "gpus", request.Annotation(written.GPUs))
		}
		r.Assumed.ForgetPending(uid, p.Node)
	}
}

// allocated reports whether kubelet has given a pod with a pending reservation its devices.
func allocated(snapshot *cache.Snapshot, p reservations.Pending, uid growth.PodUID) bool {
	node := snapshot.Node(p.Node)
	if node == nil {
		return false
	}
	allocation, ok := node.Allocations[uid]
	return ok && placement.FullyAllocated(allocation, p.Reservation)
}
