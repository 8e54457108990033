package reservations

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unique"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Books are one node's records.
type Books struct {
	// Inventory is nil while no device plugin is alive on the node, Published is the revision that wrote it.
	Inventory    *bus.NodeGPUs
	Published    bus.Revision
	Allocations  map[growth.PodUID]bus.Allocation
	Reservations map[growth.PodUID]Reserved
	// Epochs are the GPUs that have one.
	Epochs map[growth.GPU]struct{}
	// Refused holds the records that this build can not read, by key.
	Refused map[string]error

	// lent says that Allocations and Reservations are those of a copy, too.
	lent bool
}

// Reserved is a reservation and the revision that wrote it.
type Reserved struct {
	bus.Reservation
	Revision bus.Revision
}

// Now returns the books as they are. What they hold is shared until b changes, for most nodes never change again.
func (b *Books) Now() *Books {
	b.lent = true
	now := *b
	return &now
}

// own makes sure that what changes is nobody else's.
func (b *Books) own() {
	if b.lent {
		b.Allocations, b.Reservations, b.lent = maps.Clone(b.Allocations), maps.Clone(b.Reservations), false
	}
}

// put enters a value into a map that may not be there yet: tens of thousands of books are mostly empty.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// Holds tells whether a pod has anything, or is to have it.
func (b *Books) Holds(pod growth.PodUID) bool {
	_, allocated := b.Allocations[pod]
	_, reserved := b.Reservations[pod]
	return allocated || reserved
}

// Gone are the GPUs with an epoch that the node does not have any more. Of an inventory that can not be read nobody knows.
func (b *Books) Gone() []growth.GPU {
	if b.Inventory == nil && b.Published != 0 {
		return nil
	}
	var gone []growth.GPU
	for gpu := range b.Epochs {
		if b.Inventory == nil || !slices.ContainsFunc(b.Inventory.GPUs, func(g bus.GPU) bool { return g.UUID == gpu }) {
			gone = append(gone, gpu)
		}
	}
	slices.Sort(gone)
	return gone
}

// Enter puts a record into the books. One that can not be read leaves what it replaces, and is remembered as refused.
func (b *Books) Enter(key bus.Key, entry bus.Entry) {
	b.Remove(key)
	if err := b.enter(key, entry); err != nil {
		put(&b.Refused, entry.Key, err)
	}
}

func (b *Books) enter(key bus.Key, entry bus.Entry) error {
	switch key.Kind {
	case bus.KindGPUs:
		b.Published = entry.Revision
		inventory, err := bus.Decode[bus.NodeGPUs](entry.Value)
		if err != nil {
			return err
		}
		if err := sane(inventory); err != nil {
			return err
		}
		b.Inventory = &inventory
	case bus.KindAllocation:
		allocation, err := bus.Decode[bus.Allocation](entry.Value)
		if err != nil {
			return err
		}
		for _, c := range allocation.Containers {
			if err := placement.ValidateShares(c.GPUs); err != nil {
				return fmt.Errorf("allocation: container %.60q: %w", c.Name, err)
			}
		}
		b.own()
		uid := growth.PodUID(strings.Clone(string(key.Pod))) // not the whole key that it is a part of
		put(&b.Allocations, uid, slim(allocation, uid))
	case bus.KindReservation:
		reservation, err := bus.Decode[bus.Reservation](entry.Value)
		if err != nil {
			return err
		}
		if err := placement.ValidateShares(reservation.GPUs); err != nil {
			return fmt.Errorf("reservation: %w", err)
		}
		for _, c := range reservation.Containers {
			if c.Units < 0 || growth.MiB(c.Units) > placement.MaxMemory {
				return fmt.Errorf("reservation: container %.60q with %d units", c.Name, c.Units)
			}
		}
		b.own()
		put(&b.Reservations, key.Pod, Reserved{reservation, entry.Revision})
	case bus.KindEpoch:
		put(&b.Epochs, key.GPU, struct{}{})
	}
	return nil
}

// Remove takes a record out of the books.
func (b *Books) Remove(key bus.Key) {
	delete(b.Refused, key.String())
	switch key.Kind {
	case bus.KindGPUs:
		b.Inventory, b.Published = nil, 0
	case bus.KindAllocation:
		b.own()
		delete(b.Allocations, key.Pod)
	case bus.KindReservation:
		b.own()
		delete(b.Reservations, key.Pod)
	case bus.KindEpoch:
		delete(b.Epochs, key.GPU)
	}
}

// sane refuses inventories that no arithmetic should be done on.
func sane(inventory bus.NodeGPUs) error {
	if inventory.Unit <= 0 || inventory.Unit > placement.MaxMemory {
		return fmt.Errorf("inventory: a unit of %s", inventory.Unit)
	}
	seen := map[growth.GPU]bool{}
	for _, g := range inventory.GPUs {
		if g.Memory <= 0 || g.Memory > placement.MaxMemory || !bus.ValidName(g.UUID) || seen[g.UUID] {
			return fmt.Errorf("inventory: GPU %.60q with %s", g.UUID, g.Memory)
		}
		seen[g.UUID] = true
	}
	return nil
}

// slim is what decisions are made of in an allocation, in as little memory as may be: a large cluster has tens of thousands.
// The ids are kubelet's and the device plugin's alone, and by far the largest part, one for each GiB; the slot is the device
// plugin's. The names are the same ones again and again.
func slim(a bus.Allocation, uid growth.PodUID) bus.Allocation {
	a.Pod.UID, a.Pod.Namespace = uid, same(a.Pod.Namespace)
	a.Containers = slices.Clone(a.Containers) // without the room that decoding left
	for i, c := range a.Containers {
		gpus := slices.Clone(c.GPUs)
		for g := range gpus {
			gpus[g].GPU = same(gpus[g].GPU)
		}
		a.Containers[i] = bus.ContainerAllocation{Name: same(c.Name), GPUs: gpus}
	}
	return a
}

// same returns the one copy of a text that everyone shares.
func same[T ~string](text T) T { return unique.Make(text).Value() }
