package scheduler

import (
	"context"
	"fmt"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// reserveOrAssume reserves GPUs on the bus or, while the bus is unavailable, in memory. A reservation in memory has no
// revision.
func (s *Scheduler) reserveOrAssume(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error) {
	planned, revision, err := s.reserve(ctx, pod, node)
	if !unavailable(err) {
		return planned, revision, err
	}
	assumed, full := s.assume(pod, node, planned)
	if full != nil {
		return bus.Reservation{}, 0, full
	}
	s.Log.Warn("the bus is unavailable: a reservation is held in memory", "pod", pod.Ref, "node", node,
		"gpus", request.Annotation(assumed.GPUs), "pending", s.Assumed.PendingCount(), "err", err)
	return assumed, 0, nil
}

// assume chooses on the last snapshot and on all assumed reservations. tried is a reservation that may have reached the
// bus: it is kept if it still fits.
func (s *Scheduler) assume(pod request.Pod, node growth.NodeName, tried bus.Reservation) (bus.Reservation, error) {
	assumed, err := s.Assumed.Assume(node, func(on func(bus.Revision) reservations.OnNode) (bus.Reservation, error) {
		snapshot := s.Cache.Snapshot()
		onNode := on(snapshot.Revision)
		all := onNode.All()
		if _, pending := onNode.Pending[pod.Ref.UID]; !pending && tried.Pod.UID != "" {
			all[pod.Ref.UID] = tried
		}
		planned, _, err := s.plan(snapshot, snapshot.Node(node), pod, all)
		return planned, err
	})
	if err != nil {
		return bus.Reservation{}, fmt.Errorf("node %s: %w", node, err)
	}
	return assumed, nil
}
