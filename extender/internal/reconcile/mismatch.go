package reconcile

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
)

// unknownAfter is the number of consecutive passes in which an allocation must belong to no pod. Device plugins check every
// few seconds, and one that is being replaced does not check for a while.
const unknownAfter = int(time.Minute / interval)

// The kinds of mismatches.
const (
	elsewhere = "elsewhere"
	unknown   = "unknown"
)

// Failures returns all words of Mismatched.
func Failures() []string { return []string{elsewhere, unknown} }

// mismatch is one difference between a pod's allocation and its plan.
type mismatch struct {
	pod  growth.PodUID
	kind string
}

// reportMismatches reports each mismatch of the node once.
func (r *Reconciler) reportMismatches(ctx context.Context, snapshot *cache.Snapshot, node *cache.NodeInfo, counts map[mismatch]int) {
	for _, uid := range node.Mismatch.Misplaced {
		m := mismatch{uid, elsewhere}
		counts[m] = r.mismatches[m] + 1
		if counts[m] == 1 {
			r.report(node, m)
		}
	}
	for _, uid := range node.Mismatch.Unbound {
		pod, known := snapshot.Pods.Get(uid)
		if known && !pod.Ended && pod.Node == node.Name {
			continue // bound by another scheduler, which names no GPU
		}
		m := mismatch{uid, unknown}
		counts[m] = r.mismatches[m] + 1
		switch {
		case counts[m] != unknownAfter:
		case known || r.gone(ctx, node.Allocations[uid].Pod, uid):
			r.report(node, m)
		default:
			counts[m] = 0 // the snapshot does not have the pod yet
		}
	}
}

func (r *Reconciler) report(node *cache.NodeInfo, m mismatch) {
	r.Mismatched(m.kind)
	allocation := node.Allocations[m.pod]
	r.Log.Warn("kubelet's allocation differs from the plan", "kind", m.kind, "pod", allocation.Pod, "uid", m.pod,
		"node", node.Name, "gpus", request.Annotation(allocation.GPUs()))
}
