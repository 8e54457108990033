package reconcile

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
)

// unknownAfter is for how many sweeps on end an allocation must belong to no pod: device plugins look every few seconds, and
// one that is being replaced not for a while.
const unknownAfter = int(time.Minute / every)

// The words for an allocation that is not the one that was meant.
const (
	elsewhere = "elsewhere"
	unknown   = "unknown"
)

// Failures are all the words that Mismatched is told.
func Failures() []string { return []string{elsewhere, unknown} }

// oddity is one way in which a pod's allocation is not the one that was meant.
type oddity struct {
	pod  growth.PodUID
	kind string
}

// match tells of allocations that are not the ones that were meant, each once.
func (s *Sweeper) match(ctx context.Context, snapshot *cache.Snapshot, node *cache.Node, odd map[oddity]int) {
	for _, uid := range node.Mismatch.Misplaced {
		this := oddity{uid, elsewhere}
		if odd[this] = s.odd[this] + 1; odd[this] == 1 {
			s.mismatch(node, this)
		}
	}
	for _, uid := range node.Mismatch.Unbound {
		pod, known := snapshot.Pods.Get(uid)
		if known && !pod.Ended && pod.Node == node.Name {
			continue // bound by somebody who names no GPU
		}
		this := oddity{uid, unknown}
		odd[this] = s.odd[this] + 1
		switch {
		case odd[this] != unknownAfter:
		case known || s.gone(ctx, node.Allocations[uid].Pod, uid):
			s.mismatch(node, this)
		default:
			odd[this] = 0 // a pod that our view does not show
		}
	}
}

func (s *Sweeper) mismatch(node *cache.Node, this oddity) {
	s.Mismatched(this.kind)
	allocation := node.Allocations[this.pod]
	s.Log.Warn("kubelet's allocation is not the one that was meant", "kind", this.kind, "pod", allocation.Pod, "uid", this.pod,
		"node", node.Name, "gpus", request.Annotation(allocation.GPUs()))
}
