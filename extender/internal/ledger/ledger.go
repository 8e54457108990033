package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Life is how long a reservation waits for kubelet.
const Life = 5 * time.Minute

// Bus is the part of the bus that the ledger needs.
type Bus interface {
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
	Put(ctx context.Context, key string, value []byte, life bus.Life, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Ledger writes reservations.
type Ledger struct{ Bus Bus }

// Read returns a node's books as they are now.
func (l Ledger) Read(ctx context.Context, node growth.NodeName) (*Books, bus.Revision, error) {
	entries, revision, err := l.Bus.List(ctx, bus.OnNode(node))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the books of node %s: %w", node, err)
	}
	books := NewBooks()
	for _, entry := range entries {
		if key, err := bus.ParseKey(entry.Key); err == nil {
			books.Enter(key, entry)
		}
	}
	return books, revision, nil
}

// Reserve writes a reservation that was decided on the state at revision seen, for Life. It replaces the pod's own.
func (l Ledger) Reserve(ctx context.Context, node growth.NodeName, r bus.Reservation, seen bus.Revision) (bus.Revision, error) {
	value, err := bus.Encode(r)
	if err != nil {
		return 0, err
	}
	revision, err := l.Bus.Put(ctx, bus.ReservationKey(node, r.Pod.UID), value, bus.Life{For: Life},
		bus.NoneNewer(bus.ReservationsOn(node), seen), bus.NoneNewer(bus.AllocationsOn(node), seen))
	if err != nil {
		return 0, fmt.Errorf("reserving on node %s for pod %s: %w", node, r.Pod, err)
	}
	return revision, nil
}

// Release deletes a reservation, unless it was written anew since revision.
func (l Ledger) Release(ctx context.Context, node growth.NodeName, pod growth.PodRef, revision bus.Revision) error {
	key := bus.ReservationKey(node, pod.UID)
	if err := l.Bus.Delete(ctx, key, bus.Unchanged(key, revision)); err != nil {
		return fmt.Errorf("releasing the reservation of pod %s on node %s: %w", pod, node, err)
	}
	return nil
}
