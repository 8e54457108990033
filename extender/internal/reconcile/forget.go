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
	// forgetAfter is for how many sweeps on end a GPU must have been gone: a device plugin that restarts is soon back.
	forgetAfter = int(10 * time.Minute / every)
	// atOnce bounds what one sweep forgets, so that a rack which is taken away delays no repair.
	atOnce = 64
)

// forget deletes the epochs of GPUs that are gone.
func (s *Sweeper) forget(ctx context.Context, snapshot *cache.Snapshot, names []growth.NodeName) {
	missing, left := map[string]int{}, atOnce
	for _, name := range names {
		node := snapshot.Node(name)
		for _, gpu := range node.Gone {
			key := bus.EpochKey(name, gpu)
			missing[key] = s.missing[key] + 1
			if missing[key] < cmp.Or(s.ForgetAfter, forgetAfter) || left == 0 {
				continue
			}
			left--
			missing[key] = 0 // looked at again no sooner than it would be otherwise
			switch err := s.Ledger.Forget(ctx, name, gpu, node.Published); {
			case errors.Is(err, bus.ErrConflict): // the node is back
			case err != nil:
				s.Log.Warn("the epoch of a GPU that is gone stays for now", "node", name, "gpu", gpu, "reason", err)
			default:
				s.Log.Info("a GPU that is gone is forgotten", "node", name, "gpu", gpu)
			}
		}
	}
	s.missing = missing
}
