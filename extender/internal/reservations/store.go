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
	// Lifetime is how long a reservation waits for kubelet.
	Lifetime = 5 * time.Minute
	// timeout bounds one call to the bus. A slower bus counts as unavailable.
	timeout = time.Second
)

// Bus is the part of the bus that a Store needs.
type Bus interface {
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
	Commit(ctx context.Context, writes []bus.Write, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Store reads nodes and writes reservations on the bus.
type Store struct {
	Bus Bus
	// OverCommitted is called for every reservation that was refused because it would over-commit a GPU.
	OverCommitted func()
}

// Versioned is a reservation and the revision that wrote it.
type Versioned struct {
	bus.Reservation
	Revision bus.Revision
}

// Basis is what a reservation was decided on. Reserve writes the reservation only if the basis is still valid.
type Basis struct {
	// Node is the node without the pod.
	Node placement.Node
	// Revision is the revision of the records of the node, Published the revision of its inventory.
	Revision, Published bus.Revision
	// Previous is the revision of the pod's reservation on the node, zero if there was none.
	Previous bus.Revision
	// Held is the reservation that the pod takes over, the zero value if there is none. Node is without it.
	Held Versioned
	// Assumed are reservations that are newer than Revision and are part of Node.
	Assumed map[growth.PodUID]Versioned
}

// revisionOf returns the revision up to which the reservations on one GPU are part of the basis.
func (b Basis) revisionOf(gpu growth.GPU) bus.Revision {
	revision := b.Revision
	for _, r := range b.Assumed {
		onGPU := slices.ContainsFunc(r.GPUs, func(s growth.GPUShare) bool { return s.GPU == gpu })
		if onGPU && r.Revision > revision {
			revision = r.Revision
		}
	}
	return revision
}

// Read returns the current records of a node.
func (s Store) Read(ctx context.Context, node growth.NodeName) (*NodeRecords, bus.Revision, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	entries, revision, err := s.Bus.List(ctx, bus.NodePrefix(node))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the records of node %s: %w", node, err)
	}
	records := &NodeRecords{}
	for _, entry := range entries {
		key, err := bus.ParseKey(entry.Key)
		if err == nil {
			records.Set(key, entry)
		}
	}
	return records, revision, nil
}

// Reserve writes a reservation for Lifetime, and replaces the pod's own. It returns bus.ErrConflict if the basis is not
// valid any more, and placement.ErrOverCommitted if the reservation would over-commit a GPU.
func (s Store) Reserve(ctx context.Context, basis Basis, r bus.Reservation) (bus.Revision, error) {
	if _, err := basis.Node.With(r.Pod.UID, r.GPUs); err != nil {
		s.OverCommitted()
		return 0, fmt.Errorf("reserving on node %s for pod %s: %w", basis.Node.Name, r.Pod, err)
	}
	writes, guards, err := commit(basis, r)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	revision, err := s.Bus.Commit(ctx, writes, guards...)
	if err != nil {
		return 0, fmt.Errorf("reserving on node %s for pod %s: %w", basis.Node.Name, r.Pod, err)
	}
	return revision, nil
}

// commit returns the writes of a reservation, and the guards that its basis needs.
func commit(basis Basis, r bus.Reservation) ([]bus.Write, []bus.Guard, error) {
	reservation, err := bus.Encode(r)
	if err != nil {
		return nil, nil, err
	}
	epoch, err := bus.Encode(bus.Epoch{Pod: r.Pod})
	if err != nil {
		return nil, nil, err
	}
	node := basis.Node.Name
	own := bus.ReservationKey(node, r.Pod.UID)
	writes := []bus.Write{{Key: own, Value: reservation, Lifetime: bus.Lifetime{TTL: Lifetime}}}
	guards := []bus.Guard{bus.Unchanged(own, basis.Previous), bus.Unchanged(bus.GPUsKey(node), basis.Published)}
	if basis.Held.Revision != 0 {
		write, guard, err := empty(node, basis.Held)
		if err != nil {
			return nil, nil, err
		}
		writes, guards = append(writes, write), append(guards, guard)
	}
	for _, share := range r.GPUs {
		key := bus.EpochKey(node, share.GPU)
		writes = append(writes, bus.Write{Key: key, Value: epoch, Lifetime: bus.Persistent})
		guards = append(guards, bus.NotNewer(key, basis.revisionOf(share.GPU)))
	}
	return writes, guards, nil
}

// empty returns the write that takes the memory from a held reservation, and its guard. The reservation is deleted later: a
// commit only writes.
func empty(node growth.NodeName, held Versioned) (bus.Write, bus.Guard, error) {
	r := held.Reservation
	r.GPUs, r.Containers = nil, nil
	value, err := bus.Encode(r)
	key := bus.ReservationKey(node, r.Pod.UID)
	return bus.Write{Key: key, Value: value, Lifetime: bus.Lifetime{TTL: Lifetime}}, bus.Unchanged(key, held.Revision), err
}

// Renew writes a reservation for another Lifetime, unless it was written again since its revision. It takes no more memory.
func (s Store) Renew(ctx context.Context, node growth.NodeName, r Versioned) error {
	value, err := bus.Encode(r.Reservation)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	key := bus.ReservationKey(node, r.Pod.UID)
	writes := []bus.Write{{Key: key, Value: value, Lifetime: bus.Lifetime{TTL: Lifetime}}}
	if _, err := s.Bus.Commit(ctx, writes, bus.Unchanged(key, r.Revision)); err != nil {
		return fmt.Errorf("renewing the reservation of pod %s on node %s: %w", r.Pod, node, err)
	}
	return nil
}

// Release deletes a reservation, unless it was written again since revision.
func (s Store) Release(ctx context.Context, node growth.NodeName, pod growth.PodRef, revision bus.Revision) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	key := bus.ReservationKey(node, pod.UID)
	if err := s.Bus.Delete(ctx, key, bus.Unchanged(key, revision)); err != nil {
		return fmt.Errorf("releasing the reservation of pod %s on node %s: %w", pod, node, err)
	}
	return nil
}

// Forget deletes the epoch of a GPU that is not in the inventory of a revision. Zero stands for no inventory.
func (s Store) Forget(ctx context.Context, node growth.NodeName, gpu growth.GPU, published bus.Revision) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.Bus.Delete(ctx, bus.EpochKey(node, gpu), bus.Unchanged(bus.GPUsKey(node), published)); err != nil {
		return fmt.Errorf("deleting the epoch of GPU %s on node %s: %w", gpu, node, err)
	}
	return nil
}
