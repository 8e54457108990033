package placement

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// MaxMemory bounds the memory of a GPU and of a share: a pebibyte, far beyond any card and far below where the sum of
// a node's records could overflow.
const MaxMemory growth.MiB = 1 << 30

// ErrOverCommitted means that after a transition 0 ≤ used ≤ total would not hold on a GPU. The transition is refused.
var ErrOverCommitted = errors.New("the books would not balance")

// With is the node with a pod that holds shares as well. It refuses shares of unknown GPUs, of less than nothing, and
// such that a GPU would have less than nothing used or more than it has.
func (n Node) With(pod growth.PodUID, shares []growth.GPUShare) (Node, error) {
	held := n
	held.GPUs = slices.Clone(n.GPUs)
	for _, share := range shares {
		i, known := slices.BinarySearchFunc(held.GPUs, GPU{UUID: share.GPU}, byUUID)
		if !known {
			return Node{}, fmt.Errorf("%w: node %s has no GPU %.60q", ErrOverCommitted, n.Name, share.GPU)
		}
		g := &held.GPUs[i]
		before := g.Used()
		after := before + share.Memory
		if share.Memory < 0 || share.Memory > MaxMemory || before < 0 || after > g.Memory {
			return Node{}, fmt.Errorf("%w: %s of %s used on %s, %s more asked", ErrOverCommitted, before, g.Memory, g.UUID, share.Memory)
		}
		g.Residents = append(slices.Clone(g.Residents), Resident{Pod: pod, Memory: share.Memory, Growth: growthPerGPU(NewJobGrowth, len(shares)), Activity: 1})
	}
	return held, nil
}

// ValidateShares refuses shares that no arithmetic should be done on.
func ValidateShares(shares []growth.GPUShare) error {
	for _, share := range shares {
		if share.Memory < 0 || share.Memory > MaxMemory {
			return fmt.Errorf("%s on GPU %.60q", share.Memory, share.GPU)
		}
	}
	return nil
}

// Drift is how far a node's plans are from what kubelet and the API server say.
type Drift struct {
	// Misplaced are the pods that kubelet gave another GPU than was reserved for them.
	Misplaced []growth.PodUID
	// Unreserved are the bound pods that kubelet has given nothing yet and for which nothing is reserved.
	Unreserved []growth.PodUID
	// OverCommitted are the GPUs on which more is held than they have.
	OverCommitted []growth.GPU
}

// Empty tells whether plans and reality agree.
func (d Drift) Empty() bool { return len(d.Misplaced)+len(d.Unreserved)+len(d.OverCommitted) == 0 }

// FindDrift finds the drift in a node's records; n is what Take made of them.
func FindDrift(n Node, records Records) Drift {
	var d Drift
	for pod, allocation := range records.Allocations {
		if reservation, reserved := records.Reservations[pod]; reserved && onOtherGPU(allocation, reservation) {
			d.Misplaced = append(d.Misplaced, pod)
		}
	}
	for pod := range records.Bound {
		_, allocated := records.Allocations[pod]
		_, reserved := records.Reservations[pod]
		if !allocated && !reserved {
			d.Unreserved = append(d.Unreserved, pod)
		}
	}
	for _, g := range n.GPUs {
		if g.Free() < 0 {
			d.OverCommitted = append(d.OverCommitted, g.UUID)
		}
	}
	slices.Sort(d.Misplaced)
	slices.Sort(d.Unreserved)
	return d
}

// astray tells whether an allocation has a GPU that its reservation has not.
func onOtherGPU(a bus.Allocation, r bus.Reservation) bool {
	return slices.ContainsFunc(a.GPUs(), func(given growth.GPUShare) bool {
		return !slices.ContainsFunc(r.GPUs, func(planned growth.GPUShare) bool { return planned.GPU == given.GPU })
	})
}

// FullyAllocated tells whether kubelet has given every container of a reservation its devices.
func FullyAllocated(a bus.Allocation, r bus.Reservation) bool {
	return !slices.ContainsFunc(r.Containers, func(wanted bus.ContainerRequest) bool {
		return !slices.ContainsFunc(a.Containers, func(c bus.ContainerAllocation) bool { return c.Name == wanted.Name })
	})
}
