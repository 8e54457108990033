package placement

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Mismatch is where kubelet's allocations are not those that were meant. Kubelet has the last word, so that there is
// nothing to repair: it is for people to know.
type Mismatch struct {
	// Misplaced are the pods with a GPU that was not named for them: by their reservation or, where there was none any
	// more, by their Binding.
	Misplaced []growth.PodUID
	// Unbound are the pods with an allocation of which the API server does not say that they were bound here with GPUs.
	Unbound []growth.PodUID
}

// Empty tells whether every allocation is the one that was meant.
func (m Mismatch) Empty() bool { return len(m.Misplaced)+len(m.Unbound) == 0 }

// Update finds the mismatches in a node's records, when m are those in the records before. An allocation is judged when it is
// first seen and as long as its reservation is there; later the Binding's annotation says nothing more, since the
// coordinator has corrected it.
func (m Mismatch) Update(before, now Records) Mismatch {
	var next Mismatch
	for pod, allocation := range now.Allocations {
		reservation, reserved := now.Reservations[pod]
		bound, known := now.Bound[pod]
		judged := before.comparable(pod) && len(before.Allocations[pod].Containers) == len(allocation.Containers)
		elsewhere := slices.Contains(m.Misplaced, pod)
		switch {
		case reserved:
			elsewhere = elsewhere || onOtherGPU(allocation, reservation)
		case known && !judged:
			elsewhere = elsewhere || onOtherGPU(allocation, plannedBy(bound))
		}
		if elsewhere {
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

// judged tells whether there was anything that an allocation could be held against.
func (r Records) comparable(pod growth.PodUID) bool {
	_, reserved := r.Reservations[pod]
	_, known := r.Bound[pod]
	return reserved || known
}

// named is the reservation that a Binding tells of.
func plannedBy(b BoundPod) bus.Reservation {
	var r bus.Reservation
	for _, gpu := range b.GPUs {
		r.GPUs = append(r.GPUs, growth.GPUShare{GPU: gpu})
	}
	return r
}
