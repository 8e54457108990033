package decide

import (
	"context"
	"errors"
	"fmt"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/view"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// attempts bounds how often a Bind decides anew. Each conflict means that somebody else got on, so that many binds to
// one node at once need about as many attempts as there are.
const attempts = 32

// reserve chooses GPUs and reserves them.
func (d *Decider) reserve(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error) {
	snapshot := d.View.Snapshot()
	switch {
	case !snapshot.Synced:
		return bus.Reservation{}, 0, errUnsynced
	case snapshot.Away != nil:
		return bus.Reservation{}, 0, fmt.Errorf("%w: %w", ErrAway, snapshot.Away)
	}
	here, seen := snapshot.Node(node), snapshot.Revision
	for range attempts {
		planned, err := d.plan(here, pod)
		if err != nil {
			return bus.Reservation{}, 0, fmt.Errorf("node %s: %w", node, err)
		}
		revision, err := d.Ledger.Reserve(ctx, node, planned, seen)
		if err == nil {
			return planned, revision, nil
		}
		if !errors.Is(err, bus.ErrConflict) {
			return bus.Reservation{}, 0, away(err)
		}
		d.Conflicted()
		books, now, err := d.Ledger.Read(ctx, node)
		if err != nil {
			return bus.Reservation{}, 0, away(err)
		}
		// The snapshot of now, not of then: what it knows of bound pods must not be older than the books.
		here, seen = d.View.Snapshot().Reread(node, books), now
	}
	return bus.Reservation{}, 0, fmt.Errorf("node %s: %w", node, ErrOvertaken)
}

// plan chooses on one instant of the node: the GPUs that are reserved for the pod already, if they still do.
func (d *Decider) plan(here *view.Node, pod request.Pod) (bus.Reservation, error) {
	if here == nil {
		return bus.Reservation{}, fmt.Errorf("%w: nothing is known about the node", ErrNoRoom)
	}
	if here.Obstacle != "" {
		return bus.Reservation{}, fmt.Errorf("%w: %s", ErrNoRoom, here.Obstacle)
	}
	vacant := here.Without(pod.Ref.UID)
	if before, ok := here.Reservations[pod.Ref.UID]; ok && placement.Keep(vacant, pod.Request, before.GPUs) {
		return reservation(pod, before.GPUs), nil
	}
	choice, misfit := placement.Place(vacant, pod.Request, d.Policy)
	if !misfit.Fits() {
		return bus.Reservation{}, fmt.Errorf("%w: %s", ErrNoRoom, misfit.Reason)
	}
	return reservation(pod, choice.GPUs), nil
}

// away puts a bus that can not be reached under the sentence for it.
func away(err error) error {
	if errors.Is(err, bus.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return err
}
