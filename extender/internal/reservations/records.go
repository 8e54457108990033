package reservations

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unique"

	"github.com/trellis-gpu/trellis/daemon/records"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// NodeRecords are the records of one node.
type NodeRecords struct {
	// Inventory is nil while no device plugin runs on the node. Published is the revision that wrote it.
	Inventory    *bus.NodeGPUs
	Published    bus.Revision
	Allocations  map[growth.PodUID]bus.Allocation
	Reservations map[growth.PodUID]Versioned
	// Epochs are the GPUs that have one.
	Epochs map[growth.GPU]struct{}
	// CPU is what jobs of the node can use together, as its coordinator publishes it; 0 if it does not. Coordinators before
	// CPUCapacity publish only what those with a request share, which is nothing without jobs.
	CPU growth.MilliCPU
	// Refused are the errors of records that this version cannot read, by key.
	Refused map[string]error

	// shared is true while a Snapshot has the same Allocations and Reservations.
	shared bool
}

// Snapshot returns a copy of the records. Its maps are shared until r changes: most nodes never change again.
func (r *NodeRecords) Snapshot() *NodeRecords {
	r.shared = true
	snapshot := *r
	return &snapshot
}

// unshare copies the maps before a change if a Snapshot has them.
func (r *NodeRecords) unshare() {
	if r.shared {
		r.Allocations = maps.Clone(r.Allocations)
		r.Reservations = maps.Clone(r.Reservations)
		r.shared = false
	}
}

// set adds a value to a map that may be nil: tens of thousands of nodes have few records.
func set[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// Holds reports whether a pod has an allocation or a reservation.
func (r *NodeRecords) Holds(pod growth.PodUID) bool {
	_, allocated := r.Allocations[pod]
	_, reserved := r.Reservations[pod]
	return allocated || reserved
}

// RemovedGPUs returns the GPUs with an epoch that are not in the inventory any more. It returns none while the inventory
// cannot be read.
func (r *NodeRecords) RemovedGPUs() []growth.GPU {
	if r.Inventory == nil && r.Published != 0 {
		return nil
	}
	var removed []growth.GPU
	for gpu := range r.Epochs {
		if r.Inventory == nil || !slices.ContainsFunc(r.Inventory.GPUs, func(g bus.GPU) bool { return g.UUID == gpu }) {
			removed = append(removed, gpu)
		}
	}
	slices.Sort(removed)
	return removed
}

// Set adds or replaces a record. A record that cannot be read is listed in Refused.
func (r *NodeRecords) Set(key bus.Key, entry bus.Entry) {
	r.Remove(key)
	if err := r.set(key, entry); err != nil {
		set(&r.Refused, entry.Key, err)
	}
}

func (r *NodeRecords) set(key bus.Key, entry bus.Entry) error {
	switch key.Kind {
	case bus.KindGPUs:
		r.Published = entry.Revision
		inventory, err := bus.Decode[bus.NodeGPUs](entry.Value)
		if err != nil {
			return err
		}
		if err := validate(inventory); err != nil {
			return err
		}
		r.Inventory = &inventory
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
		r.unshare()
		uid := growth.PodUID(strings.Clone(string(key.Pod))) // key.Pod shares the memory of the whole key
		set(&r.Allocations, uid, slim(allocation, uid))
	case bus.KindReservation:
		reservation, err := decodeReservation(entry.Value)
		if err != nil {
			return err
		}
		r.unshare()
		set(&r.Reservations, key.Pod, Versioned{reservation, entry.Revision})
	case bus.KindLoad:
		load, err := records.Read[bus.NodeLoad](entry.Value)
		if err != nil {
			return err
		}
		r.CPU = max(0, cmp.Or(load.CPUCapacity, load.CPUPool))
	case bus.KindEpoch:
		set(&r.Epochs, key.GPU, struct{}{})
	}
	return nil
}

func decodeReservation(value []byte) (bus.Reservation, error) {
	reservation, err := bus.Decode[bus.Reservation](value)
	if err != nil {
		return bus.Reservation{}, err
	}
	if err := placement.ValidateShares(reservation.GPUs); err != nil {
		return bus.Reservation{}, fmt.Errorf("reservation: %w", err)
	}
	for _, c := range reservation.Containers {
		if c.Units < 0 || growth.MiB(c.Units) > placement.MaxMemory {
			return bus.Reservation{}, fmt.Errorf("reservation: container %.60q with %d units", c.Name, c.Units)
		}
	}
	return reservation, nil
}

// Remove removes a record.
func (r *NodeRecords) Remove(key bus.Key) {
	delete(r.Refused, key.String())
	switch key.Kind {
	case bus.KindGPUs:
		r.Inventory, r.Published = nil, 0
	case bus.KindAllocation:
		r.unshare()
		delete(r.Allocations, key.Pod)
	case bus.KindReservation:
		r.unshare()
		delete(r.Reservations, key.Pod)
	case bus.KindLoad:
		r.CPU = 0
	case bus.KindEpoch:
		delete(r.Epochs, key.GPU)
	}
}

// validate refuses inventories with amounts that would overflow, or with unusable or repeated names.
func validate(inventory bus.NodeGPUs) error {
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

// slim keeps the part of an allocation that decisions read. A large cluster has tens of thousands of allocations. The
// device ids, one for each GiB, are by far the largest part; only kubelet and the device plugin need them, and the slot.
// Names are interned, because they repeat.
func slim(a bus.Allocation, uid growth.PodUID) bus.Allocation {
	a.Pod.UID = uid
	a.Pod.Namespace = intern(a.Pod.Namespace)
	a.Containers = slices.Clone(a.Containers) // drops spare capacity
	for i, c := range a.Containers {
		gpus := slices.Clone(c.GPUs)
		for g := range gpus {
			gpus[g].GPU = intern(gpus[g].GPU)
		}
		a.Containers[i] = bus.ContainerAllocation{Name: intern(c.Name), GPUs: gpus}
	}
	return a
}

// intern returns the canonical copy of a text.
func intern[T ~string](text T) T { return unique.Make(text).Value() }
