package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// attempts bounds how often one decision is taken anew. Each conflict means that somebody else got on, so that many binds
// to one GPU at once need about as many attempts as there are.
const attempts = 32

// Reserve chooses GPUs of the node for the pod and has them reserved on the bus: those it has already, if they still do.
// It returns the revision of the reservation.
func (d *Decider) Reserve(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error) {
	planned, revision, err := d.reserve(ctx, pod, node)
	return planned, revision, away(err)
}

// reserve is Reserve with errors as they come. A reservation that is returned with an error may have been written.
func (d *Decider) reserve(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error) {
	snapshot := d.View.Snapshot()
	switch {
	case !snapshot.Synced:
		return bus.Reservation{}, 0, errUnsynced
	case snapshot.Away != nil:
		return bus.Reservation{}, 0, snapshot.Away
	}
	here, seen := snapshot.Node(node), snapshot.Revision
	for range attempts {
		later := d.own.Since(node, seen)
		planned, vacant, err := d.plan(snapshot, here, pod, beside(d.Held.On(node), later))
		if err != nil {
			return bus.Reservation{}, 0, fmt.Errorf("node %s: %w", node, err)
		}
		basis := reservations.Basis{Node: vacant, Seen: seen, Later: later, Published: here.Published, Own: here.Reservations[pod.Ref.UID].Revision}
		if mine, again := later[pod.Ref.UID]; again {
			basis.Own = mine.Revision
		}
		revision, err := d.Ledger.Reserve(ctx, basis, planned)
		if err == nil {
			d.own.Wrote(node, seen, reservations.Reserved{Reservation: planned, Revision: revision})
		}
		if err == nil || !errors.Is(err, bus.ErrConflict) {
			return planned, revision, err
		}
		d.Conflicted()
		books, now, err := d.Ledger.Read(ctx, node)
		if err != nil {
			return bus.Reservation{}, 0, err
		}
		// The snapshot of now, not of then: what it knows of bound pods must not be older than the books.
		snapshot = d.View.Snapshot()
		here, seen = snapshot.Reread(node, books), now
	}
	return bus.Reservation{}, 0, fmt.Errorf("node %s: %w", node, ErrOvertaken)
}

// beside adds what we have written ourselves to what is held in memory.
func beside(held map[growth.PodUID]bus.Reservation, written map[growth.PodUID]reservations.Reserved) map[growth.PodUID]bus.Reservation {
	for pod, r := range written {
		if _, again := held[pod]; !again {
			held[pod] = r.Reservation
		}
	}
	return held
}

// plan chooses on one instant of the node, beside what is held there that the instant does not show: the GPUs that are the
// pod's already, if they still do. It returns the node as it is without the pod as well.
func (d *Decider) plan(s *cache.Snapshot, here *cache.Node, pod request.Pod, held map[growth.PodUID]bus.Reservation) (bus.Reservation, placement.Node, error) {
	if here == nil {
		return bus.Reservation{}, placement.Node{}, fmt.Errorf("%w: nothing is known about the node", ErrNoRoom)
	}
	if here.Obstacle != "" {
		return bus.Reservation{}, placement.Node{}, fmt.Errorf("%w: %s", ErrNoRoom, here.Obstacle)
	}
	vacant := s.With(here, held).Without(pod.Ref.UID)
	if before := before(here, pod, held); placement.StillFits(vacant, pod.Request, before) {
		return reservation(pod, before), vacant, nil
	}
	choice, misfit := placement.Place(vacant, pod.Request, d.policy(s))
	if !misfit.Fits() {
		return bus.Reservation{}, placement.Node{}, fmt.Errorf("%w: %s", ErrNoRoom, misfit.Reason)
	}
	return reservation(pod, choice.GPUs), vacant, nil
}

// before is what was chosen for the pod on the node earlier: what is held, else what is reserved on the bus, else what its
// Binding said.
func before(here *cache.Node, pod request.Pod, held map[growth.PodUID]bus.Reservation) []growth.GPUShare {
	if waiting, ok := held[pod.Ref.UID]; ok {
		return waiting.GPUs
	}
	if reserved, ok := here.Reservations[pod.Ref.UID]; ok {
		return reserved.GPUs
	}
	if pod.Node != here.Name {
		return nil
	}
	memory, _ := pod.Request.MemoryPerGPU(here.Unit)
	said := make([]growth.GPUShare, len(pod.GPUs))
	for i, g := range pod.GPUs {
		said[i] = growth.GPUShare{GPU: g, Memory: memory}
	}
	return said
}

// away puts a bus that can not be reached under the sentence for it.
func away(err error) error {
	if unreachable(err) {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return err
}

func unreachable(err error) bool {
	return errors.Is(err, bus.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}
