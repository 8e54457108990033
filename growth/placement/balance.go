package placement

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// MaxMemory bounds the memory of a GPU and of a share, 1 PiB. It is far above any GPU, and the sum over a node's
// records cannot overflow.
const MaxMemory growth.MiB = 1 << 30

// ErrOverCommitted means that a change would violate 0 ≤ used ≤ total on a GPU. The change is rejected.
var ErrOverCommitted = errors.New("GPU memory would be over-committed")

// With returns the node with shares of another pod. It rejects shares of unknown GPUs, negative shares, and shares that
// over-commit a GPU.
func (n Node) With(pod growth.PodUID, shares []growth.GPUShare) (Node, error) {
	with := n
	with.GPUs = slices.Clone(n.GPUs)
	for _, share := range shares {
		i, known := slices.BinarySearchFunc(with.GPUs, GPU{UUID: share.GPU}, byUUID)
		if !known {
			return Node{}, fmt.Errorf("%w: node %s has no GPU %.60q", ErrOverCommitted, n.Name, share.GPU)
		}
		g := &with.GPUs[i]
		before := g.Used()
		after := before + share.Memory
		if share.Memory < 0 || share.Memory > MaxMemory || before < 0 || after > g.Memory {
			return Node{}, fmt.Errorf("%w: %s of %s used on %s, %s more asked",
				ErrOverCommitted, before, g.Memory, g.UUID, share.Memory)
		}
		g.Residents = append(slices.Clone(g.Residents), Resident{
			Pod:    pod,
			Memory: share.Memory,
			Growth: growthPerGPU(NewJobGrowth, len(shares)),
		})
	}
	return with, nil
}

// ValidateShares returns an error for a share whose memory is outside 0..MaxMemory.
func ValidateShares(shares []growth.GPUShare) error {
	for _, share := range shares {
		if share.Memory < 0 || share.Memory > MaxMemory {
			return fmt.Errorf("%s on GPU %.60q", share.Memory, share.GPU)
		}
	}
	return nil
}

// Drift is the difference between a node's reservations and what kubelet and the API server report.
type Drift struct {
	// Misplaced are the pods to which kubelet allocated another GPU than was reserved.
	Misplaced []growth.PodUID
	// Unreserved are the bound pods with neither an allocation nor a reservation.
	Unreserved []growth.PodUID
	// OverCommitted are the GPUs on which more memory is held than they have.
	OverCommitted []growth.GPU
}

// Empty reports whether there is no drift.
func (d Drift) Empty() bool { return len(d.Misplaced)+len(d.Unreserved)+len(d.OverCommitted) == 0 }

// FindDrift returns the drift in a node's records. n is the result of NewNode for these records.
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

// onOtherGPU reports whether an allocation has a GPU that its reservation lacks.
func onOtherGPU(a bus.Allocation, r bus.Reservation) bool {
	return slices.ContainsFunc(a.GPUs(), func(allocated growth.GPUShare) bool {
		sameGPU := func(reserved growth.GPUShare) bool { return reserved.GPU == allocated.GPU }
		return !slices.ContainsFunc(r.GPUs, sameGPU)
	})
}

// FullyAllocated reports whether kubelet has allocated devices to every container of a reservation.
func FullyAllocated(a bus.Allocation, r bus.Reservation) bool {
	return !slices.ContainsFunc(r.Containers, func(requested bus.ContainerRequest) bool {
		sameName := func(c bus.ContainerAllocation) bool { return c.Name == requested.Name }
		return !slices.ContainsFunc(a.Containers, sameName)
	})
}
