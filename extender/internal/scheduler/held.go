package scheduler

import (
	"context"
	"fmt"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// secure reserves GPUs on the bus or, while that is away, in memory. A reservation in memory has no revision.
func (d *Decider) secure(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error) {
	planned, revision, err := d.reserve(ctx, pod, node)
	if !unreachable(err) {
		return planned, revision, err
	}
	held, full := d.hold(pod, node, planned)
	if full != nil {
		return bus.Reservation{}, 0, full
	}
	d.Log.Warn("the bus is away: a reservation is held in memory", "pod", pod.Ref, "node", node,
		"gpus", request.Annotation(held.GPUs), "held", d.Held.Len(), "reason", err)
	return held, 0, nil
}

// hold chooses on the last snapshot, beside all that is held already. A reservation that was tried on the bus, and may have
// arrived there, is held as it was tried if it still fits.
func (d *Decider) hold(pod request.Pod, node growth.NodeName, tried bus.Reservation) (bus.Reservation, error) {
	held, err := d.Held.Hold(node, func(held map[growth.PodUID]bus.Reservation) (bus.Reservation, error) {
		if _, again := held[pod.Ref.UID]; !again && tried.Pod.UID != "" {
			held[pod.Ref.UID] = tried
		}
		snapshot := d.View.Snapshot()
		planned, _, err := d.plan(snapshot, snapshot.Node(node), pod, beside(held, d.own.Since(node, snapshot.Revision)))
		return planned, err
	})
	if err != nil {
		return bus.Reservation{}, fmt.Errorf("node %s: %w", node, err)
	}
	return held, nil
}

// policy is how GPUs are rated on a snapshot. While the bus is away the samples of how jobs grow are old: what counts
// then is memory alone, and an empty GPU is the one where nobody can be in the way.
func (d *Decider) policy(s *cache.Snapshot) placement.Policy {
	if s.Away == nil {
		return d.Policy
	}
	switch d.Policy.(type) {
	case placement.Binpack, placement.Spread:
		return d.Policy
	}
	return placement.Spread{}
}
