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

// Hold reserves memory on another node for the pod that will continue the job of a running one. It may be repeated: it then
// keeps the reservation from expiring.
func (s *Scheduler) Hold(ctx context.Context, uid growth.PodUID, node growth.NodeName) error {
	snapshot := s.Cache.Snapshot()
	pod, known := snapshot.Pods.Get(uid)
	if !known || pod.Node == "" || pod.Node == node {
		return nil
	}
	if info := snapshot.Node(node); info != nil {
		// Created is in the future by the lifetime of the reservation at its last write.
		if r, reserved := info.Reservations[uid]; reserved && r.Held && time.Until(r.Created) > reservations.Lifetime-renewal {
			return nil
		}
	}
	_, _, err := s.Reserve(ctx, *pod, node)
	return err
}

// Drop releases what Hold has reserved for a pod on a node, and reports whether there was anything.
func (s *Scheduler) Drop(ctx context.Context, ref growth.PodRef, node growth.NodeName) (bool, error) {
	info := s.Cache.Snapshot().Node(node)
	if info == nil {
		return false, nil
	}
	r, reserved := info.Reservations[ref.UID]
	if !reserved || !r.Held {
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
