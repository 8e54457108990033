package reconcile

import (
	"cmp"
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

// grace is for how many sweeps on end a pod must be unreserved before that is taken for more than two watches that are
// not equally far.
const grace = 10

// write puts on the bus what is held in memory. Where kubelet or others have decided meanwhile, they win.
func (s *Sweeper) write(ctx context.Context, snapshot *cache.Snapshot) {
	held := s.Held.All()
	for _, uid := range slices.Sorted(maps.Keys(held)) {
		waiting := held[uid]
		log := s.Log.With("pod", waiting.Pod, "node", waiting.Node)
		pod, known := snapshot.Pods.Get(uid)
		switch {
		case !known && !s.gone(ctx, waiting.Pod, uid):
			continue // our informer has not heard of it yet
		case !known, pod.Ended, pod.Node != "" && pod.Node != waiting.Node, allocated(snapshot, waiting, uid):
			log.Info("a held reservation is not needed any more")
		default:
			written, _, err := s.Reserver.Reserve(ctx, *pod, waiting.Node)
			if err != nil && !errors.Is(err, scheduler.ErrNoRoom) {
				log.Warn("a held reservation could not be written", "reason", err)
				continue
			}
			if err != nil {
				log.Warn("a held reservation has no room any more: kubelet decides", "reason", err)
				break
			}
			s.Repaired("held")
			log.Info("a held reservation is written", "gpus", request.Annotation(written.GPUs))
		}
		s.Held.Drop(uid, waiting.Node)
	}
}

func allocated(snapshot *cache.Snapshot, waiting reservations.Waiting, uid growth.PodUID) bool {
	here := snapshot.Node(waiting.Node)
	if here == nil {
		return false
	}
	allocation, given := here.Allocations[uid]
	return given && placement.FullyAllocated(allocation, waiting.Reservation)
}

// reserve keeps room for bound pods that kubelet has not reached yet and that lost their reservation: it expired, or the
// replica that held it in memory died.
func (s *Sweeper) reserve(ctx context.Context, snapshot *cache.Snapshot, node *cache.Node, waiting map[growth.PodUID]int) {
	for _, uid := range node.Drift.Unreserved {
		waiting[uid] = s.waiting[uid] + 1
		if waiting[uid] < grace {
			continue
		}
		s.plan(ctx, snapshot, node, uid, "unreserved", waiting[uid] == grace)
	}
}

// relieve moves reservations away from GPUs on which more is held than they have: the youngest pod's first, since kubelet
// admits pods in the order in which they were made.
func (s *Sweeper) relieve(ctx context.Context, snapshot *cache.Snapshot, node *cache.Node) {
	for _, gpu := range node.Drift.OverCommitted {
		for _, uid := range movable(node, gpu) {
			if s.plan(ctx, snapshot, node, uid, "overdrawn", false) {
				break // the next sweep sees what is left to do
			}
		}
	}
}

// movable are the bound pods with a plan for the GPU that kubelet has not begun with, youngest first.
func movable(node *cache.Node, gpu growth.GPU) []growth.PodUID {
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

// plan reserves anew for a bound pod, and tells whether it could.
func (s *Sweeper) plan(ctx context.Context, snapshot *cache.Snapshot, node *cache.Node, uid growth.PodUID, kind string, tell bool) bool {
	pod, known := snapshot.Pods.Get(uid)
	if !known || pod.Ended {
		return false
	}
	written, _, err := s.Reserver.Reserve(ctx, *pod, node.Name)
	if err != nil {
		if tell {
			s.Log.Warn("no reservation can be made for a bound pod: kubelet decides", "pod", pod.Ref, "node", node.Name, "reason", err)
		}
		return false
	}
	s.Repaired(kind)
	s.Log.Info("reserved anew", "pod", pod.Ref, "node", node.Name, "drift", kind, "gpus", request.Annotation(written.GPUs))
	return true
}
