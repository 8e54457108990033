package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// renewal is the age at which a held reservation is written again: long before it expires.
const renewal = reservations.Lifetime / 3

// Hold reserves memory on a node for the pod that will continue the job of a running one. On the node of the running pod it
// keeps the memory of that one, which would be free for a moment. It may be repeated: it then keeps the reservation from expiring,
// also after the end of the pod.
func (s *Scheduler) Hold(ctx context.Context, uid growth.PodUID, node growth.NodeName) error {
	snapshot := s.Cache.Snapshot()
	last := heldFor(snapshot.Node(node), uid)
	// Created is in the future by the lifetime of the reservation at its last write.
	if last.Held && time.Until(last.Created) > reservations.Lifetime-renewal {
		return nil
	}
	pod, known := snapshot.Pods.Get(uid)
	switch {
	case known && pod.Node != "":
		leaving := *pod
		leaving.Leaves = true
		_, _, err := s.Reserve(ctx, leaving, node)
		return err
	case !known && last.Held && len(last.GPUs) > 0:
		last.Created = time.Now().Add(reservations.Lifetime)
		return s.Store.Renew(ctx, node, last)
	}
	return nil
}

// heldFor returns the reservation that is held on a node for the successor of a pod, the zero value if there is none.
func heldFor(node *cache.NodeInfo, uid growth.PodUID) reservations.Versioned {
	if node == nil || !node.Reservations[uid].Held {
		return reservations.Versioned{}
	}
	return node.Reservations[uid]
}

// Held reports whether memory is reserved on a node for the pod that will continue the job of another one.
func (s *Scheduler) Held(uid growth.PodUID, node growth.NodeName) bool {
	return len(heldFor(s.Cache.Snapshot().Node(node), uid).GPUs) > 0
}

// Drop releases what Hold has reserved for a pod on a node, and reports whether there was anything.
func (s *Scheduler) Drop(ctx context.Context, ref growth.PodRef, node growth.NodeName) (bool, error) {
	r := heldFor(s.Cache.Snapshot().Node(node), ref.UID)
	if !r.Held {
		return false, nil
	}
	if err := s.Store.Release(ctx, node, ref, r.Revision); err != nil && !errors.Is(err, bus.ErrConflict) {
		return false, err
	}
	s.Assumed.ForgetWritten(node, ref.UID)
	return true, nil
}

// held returns the reservation that is held for a pod on a node, the zero value if there is none.
func held(node *cache.NodeInfo, pod request.Pod, assumed reservations.OnNode) reservations.Versioned {
	if pod.Continues == "" || node == nil {
		return reservations.Versioned{}
	}
	r := node.Reservations[pod.Continues]
	if newer, written := assumed.Written[pod.Continues]; written {
		r = newer
	}
	if !r.Held {
		return reservations.Versioned{}
	}
	return r
}
