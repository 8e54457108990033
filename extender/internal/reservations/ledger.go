package reservations

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

const (
	// Life is how long a reservation waits for kubelet.
	Life = 5 * time.Minute
	// within bounds one call to the bus. A bus that takes longer is as good as away.
	within = time.Second
)

// Bus is the part of the bus that the ledger needs.
type Bus interface {
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
	Commit(ctx context.Context, writes []bus.Write, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Ledger writes reservations.
type Ledger struct {
	Bus Bus
	// Unbalanced is told of every transition that was refused because the books would not balance.
	Unbalanced func()
}

// Basis is what a reservation was decided on.
type Basis struct {
	// Node is the node as it is without the pod.
	Node placement.Node
	// Seen is the revision up to which the books were known, Published the one that wrote their inventory.
	Seen, Published bus.Revision
	// Own is the revision of the pod's reservation on the node, zero if it had none.
	Own bus.Revision
	// Later are reservations that were written after Seen and are in Node all the same.
	Later map[growth.PodUID]Reserved
}

// seen is the revision up to which the books of one GPU were known.
func (b Basis) seen(gpu growth.GPU) bus.Revision {
	seen := b.Seen
	for _, r := range b.Later {
		if r.Revision > seen && slices.ContainsFunc(r.GPUs, func(s growth.GPUShare) bool { return s.GPU == gpu }) {
			seen = r.Revision
		}
	}
	return seen
}

// Read returns a node's books as they are now.
func (l Ledger) Read(ctx context.Context, node growth.NodeName) (*Books, bus.Revision, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	entries, revision, err := l.Bus.List(ctx, bus.NodePrefix(node))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the books of node %s: %w", node, err)
	}
	books := &Books{}
	for _, entry := range entries {
		if key, err := bus.ParseKey(entry.Key); err == nil {
			books.Enter(key, entry)
		}
	}
	return books, revision, nil
}

// Reserve writes a reservation for Life, in place of the pod's own. It is bus.ErrConflict when the basis has moved on,
// and placement.ErrOverCommitted when a GPU would be over-committed.
func (l Ledger) Reserve(ctx context.Context, on Basis, r bus.Reservation) (bus.Revision, error) {
	if _, err := on.Node.With(r.Pod.UID, r.GPUs); err != nil {
		l.Unbalanced()
		return 0, fmt.Errorf("reserving on node %s for pod %s: %w", on.Node.Name, r.Pod, err)
	}
	writes, guards, err := transition(on, r)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	revision, err := l.Bus.Commit(ctx, writes, guards...)
	if err != nil {
		return 0, fmt.Errorf("reserving on node %s for pod %s: %w", on.Node.Name, r.Pod, err)
	}
	return revision, nil
}

// transition is the commit of a reservation: what it writes, and what must not have changed.
func transition(on Basis, r bus.Reservation) ([]bus.Write, []bus.Guard, error) {
	reservation, err := bus.Encode(r)
	if err != nil {
		return nil, nil, err
	}
	epoch, err := bus.Encode(bus.Epoch{Pod: r.Pod})
	if err != nil {
		return nil, nil, err
	}
	node, own := on.Node.Name, bus.ReservationKey(on.Node.Name, r.Pod.UID)
	writes := []bus.Write{{Key: own, Value: reservation, Lifetime: bus.Lifetime{TTL: Life}}}
	guards := []bus.Guard{bus.Unchanged(own, on.Own), bus.Unchanged(bus.GPUsKey(node), on.Published)}
	for _, share := range r.GPUs {
		key := bus.EpochKey(node, share.GPU)
		writes = append(writes, bus.Write{Key: key, Value: epoch, Lifetime: bus.Persistent})
		guards = append(guards, bus.NotNewer(key, on.seen(share.GPU)))
	}
	return writes, guards, nil
}

// Release deletes a reservation, unless it was written anew since revision.
func (l Ledger) Release(ctx context.Context, node growth.NodeName, pod growth.PodRef, revision bus.Revision) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	key := bus.ReservationKey(node, pod.UID)
	if err := l.Bus.Delete(ctx, key, bus.Unchanged(key, revision)); err != nil {
		return fmt.Errorf("releasing the reservation of pod %s on node %s: %w", pod, node, err)
	}
	return nil
}

// Forget deletes the epoch of a GPU that the node's inventory of that revision does not have; zero is no inventory at all.
func (l Ledger) Forget(ctx context.Context, node growth.NodeName, gpu growth.GPU, published bus.Revision) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := l.Bus.Delete(ctx, bus.EpochKey(node, gpu), bus.Unchanged(bus.GPUsKey(node), published)); err != nil {
		return fmt.Errorf("forgetting the epoch of GPU %s on node %s: %w", gpu, node, err)
	}
	return nil
}
