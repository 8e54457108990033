package placement

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Mismatch lists the allocations that differ from what was decided. Kubelet's allocation is final, so there is nothing
// to reconcile. The lists are for operators.
type Mismatch struct {
	// Misplaced are the pods with a GPU that their reservation did not name or, after it expired, their Binding.
	Misplaced []growth.PodUID
	// Unbound are the pods with an allocation that the API server does not list as bound to the node with GPUs.
	Unbound []growth.PodUID
}

// Empty reports whether there is no mismatch.
func (m Mismatch) Empty() bool { return len(m.Misplaced)+len(m.Unbound) == 0 }

// Update returns the mismatches in a node's records. m are the mismatches in the records before.
//
// An allocation is checked when it appears and as long as its reservation exists. After that the annotation of the
// Binding proves nothing, because the coordinator corrects it.
func (m Mismatch) Update(before, now Records) Mismatch {
	var next Mismatch
	for pod, allocation := range now.Allocations {
		reservation, reserved := now.Reservations[pod]
		bound, known := now.Bound[pod]
		checked := before.comparable(pod) && len(before.Allocations[pod].Containers) == len(allocation.Containers)
		misplaced := slices.Contains(m.Misplaced, pod)
		switch {
		case reserved:
			misplaced = misplaced || onOtherGPU(allocation, reservation)
		case known && !checked:
			misplaced = misplaced || onOtherGPU(allocation, plannedBy(bound))
		}
		if misplaced {
			next.Misplaced = append(next.Misplaced, pod)
		}
		if !reserved && !known {
			next.Unbound = append(next.Unbound, pod)
		}
	}
	slices.Sort(next.Misplaced)
	slices.Sort(next.Unbound)
	return next
}

// comparable reports whether the records contain anything to compare the pod's allocation with.
func (r Records) comparable(pod growth.PodUID) bool {
	_, reserved := r.Reservations[pod]
	_, known := r.Bound[pod]
	return reserved || known
}

// plannedBy returns a reservation of the GPUs in a pod's Binding.
func plannedBy(b BoundPod) bus.Reservation {
	var r bus.Reservation
	for _, gpu := range b.GPUs {
		r.GPUs = append(r.GPUs, growth.GPUShare{GPU: gpu})
	}
	return r
}
