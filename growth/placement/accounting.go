package placement

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Records is all that is known about a node.
type Records struct {
	Inventory    bus.NodeGPUs
	Allocations  map[growth.PodUID]bus.Allocation
	Reservations map[growth.PodUID]bus.Reservation
	// BoundPod are the pods that the API server says were bound here with their GPUs, and that still run.
	Bound map[growth.PodUID]BoundPod
	// Sample returns a job's last observation.
	Sample func(growth.PodUID) (bus.Sample, bool)
}

// BoundPod is what a bound pod's annotation and spec tell.
type BoundPod struct {
	GPUs    []growth.GPU
	Request Request
}

// NewNode makes the node's books: who holds what, each pod once.
func NewNode(name growth.NodeName, records Records) Node {
	n := Node{Name: name, Unit: records.Inventory.Unit, GPUs: make([]GPU, 0, len(records.Inventory.GPUs))}
	for i, g := range records.Inventory.GPUs {
		n.GPUs = append(n.GPUs, GPU{UUID: g.UUID, Index: i, Memory: g.Memory, Healthy: g.Healthy})
	}
	slices.SortStableFunc(n.GPUs, byUUID)
	for _, pod := range records.pods() {
		job := observedJob(records.Sample, pod)
		held := records.heldBy(pod)
		for _, share := range held {
			i, known := slices.BinarySearchFunc(n.GPUs, GPU{UUID: share.GPU}, byUUID)
			if !known {
				continue // a GPU that is gone holds nothing
			}
			n.GPUs[i].Residents = append(n.GPUs[i].Residents, Resident{
				Pod: pod, Memory: share.Memory, Growth: growthPerGPU(job.Growth, len(held)), Activity: job.Activity, Category: job.Category,
			})
		}
	}
	return n
}

// pods lists every pod with a claim, in a fixed order.
func (r Records) pods() []growth.PodUID {
	var pods []growth.PodUID
	for pod := range r.Allocations {
		pods = append(pods, pod)
	}
	for pod := range r.Reservations {
		pods = append(pods, pod)
	}
	for pod := range r.Bound {
		pods = append(pods, pod)
	}
	slices.Sort(pods)
	return slices.Compact(pods)
}

// held is what one pod holds, by the best evidence there is.
func (r Records) heldBy(pod growth.PodUID) []growth.GPUShare {
	allocation, allocated := r.Allocations[pod]
	reservation, reserved := r.Reservations[pod]
	switch {
	case allocated && reserved:
		return sumByGPU(allocation.GPUs(), Outstanding(reservation, allocation, r.Inventory.Unit))
	case allocated:
		return sumByGPU(allocation.GPUs(), Outstanding(r.requestedBy(pod, allocation), allocation, r.Inventory.Unit))
	case reserved:
		return sumByGPU(reservation.GPUs)
	}
	bound := r.Bound[pod]
	memory, misfit := bound.Request.MemoryPerGPU(r.Inventory.Unit)
	if !misfit.Fits() {
		return nil // kubelet will have refused it as well
	}
	shares := make([]growth.GPUShare, len(bound.GPUs))
	for i, g := range bound.GPUs {
		shares[i] = growth.GPUShare{GPU: g, Memory: memory}
	}
	return sumByGPU(shares)
}

// asked is what a bound pod would have reserved on the GPUs that its first containers were given, where its others follow.
// Its own reservation has expired.
func (r Records) requestedBy(pod growth.PodUID, a bus.Allocation) bus.Reservation {
	bound, known := r.Bound[pod]
	if !known {
		return bus.Reservation{}
	}
	memory, _ := bound.Request.MemoryPerGPU(r.Inventory.Unit)
	asked := bus.Reservation{Containers: bound.Request.ContainerRequests()}
	for _, given := range a.GPUs() {
		asked.GPUs = append(asked.GPUs, growth.GPUShare{GPU: given.GPU, Memory: memory})
	}
	return asked
}

// Outstanding is what a reservation still keeps for containers that kubelet has given nothing yet.
func Outstanding(r bus.Reservation, a bus.Allocation, unit growth.MiB) []growth.GPUShare {
	var kept []growth.GPUShare
	for _, wanted := range r.Containers {
		if slices.ContainsFunc(a.Containers, func(c bus.ContainerAllocation) bool { return c.Name == wanted.Name }) {
			continue
		}
		for _, share := range r.GPUs {
			memory := growth.MiB(ceilDiv(wanted.Units, len(r.GPUs))) * unit
			kept = append(kept, growth.GPUShare{GPU: share.GPU, Memory: min(memory, share.Memory)})
		}
	}
	return kept
}

// merged sums shares by GPU, ordered by UUID. Amounts below nothing come from no writer of ours and count as nothing.
func sumByGPU(lists ...[]growth.GPUShare) []growth.GPUShare {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b growth.GPUShare) int { return cmp.Compare(a.GPU, b.GPU) })
	sums := all[:0]
	for _, share := range all {
		share.Memory = max(0, share.Memory)
		if last := len(sums) - 1; last >= 0 && sums[last].GPU == share.GPU {
			sums[last].Memory += share.Memory
			continue
		}
		sums = append(sums, share)
	}
	return sums
}

// observed reads a job's growth, activity and category. A job that nobody has heard of yet has all its learning before it.
func observedJob(sample func(growth.PodUID) (bus.Sample, bool), pod growth.PodUID) Resident {
	unknown := Resident{Growth: NewJobGrowth, Activity: NewJobActivity}
	if sample == nil {
		return unknown
	}
	s, ok := sample(pod)
	if !ok || !s.Reported {
		return unknown
	}
	activity := NewJobActivity
	if s.StepSeconds > 0 {
		activity = growth.Share(1 - s.LoadSeconds/s.StepSeconds)
	}
	return Resident{Growth: clamp(s.Growth), Activity: clamp(activity), Category: s.Category}
}

func growthPerGPU(g growth.Growth, gpus int) growth.Growth { return g / growth.Growth(max(1, gpus)) }

// clamp keeps a fraction in 0..1, and takes what is not a number for 1: unknown is young and busy.
func clamp[F ~float64](f F) F {
	if f != f {
		return 1
	}
	return min(1, max(0, f))
}
