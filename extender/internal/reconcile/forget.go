package reconcile

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// forgetAfter is the number of consecutive passes in which a GPU must be missing. A device plugin restarts in less
	// time.
	forgetAfter = int(10 * time.Minute / interval)
	// maxForgotten bounds the epochs that one pass deletes, so that the removal of many nodes at once delays no correction.
	maxForgotten = 64
)

// forget deletes the epochs of removed GPUs. A GPU's epoch is the fencing token of its reservations (bus.Epoch).
func (r *Reconciler) forget(ctx context.Context, snapshot *cache.Snapshot, names []growth.NodeName) {
	missing, left := map[string]int{}, maxForgotten
	for _, name := range names {
		node := snapshot.Node(name)
		for _, gpu := range node.RemovedGPUs {
			key := bus.EpochKey(name, gpu)
			missing[key] = r.missing[key] + 1
			if missing[key] < cmp.Or(r.ForgetAfter, forgetAfter) || left == 0 {
				continue
			}
			left--
			missing[key] = 0 // a failed deletion is retried after as many passes
			err := r.Store.Forget(ctx, name, gpu, node.Published)
			switch {
			case errors.Is(err, bus.ErrConflict): // the node is back
			case err != nil:
				r.Log.Warn("the epoch of a removed GPU could not be deleted", "node", name, "gpu", gpu, "err", err)
			default:
				r.Log.Info("the epoch of a removed GPU is deleted", "node", name, "gpu", gpu)
			}
		}
	}
	r.missing = missing
}
