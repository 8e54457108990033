package placement

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Records are all records of a node.
type Records struct {
	Inventory    bus.NodeGPUs
	Allocations  map[growth.PodUID]bus.Allocation
	Reservations map[growth.PodUID]bus.Reservation
	// Bound are the running pods that were bound to the node with GPUs, from the API server.
	Bound map[growth.PodUID]BoundPod
	// CPU is what the jobs of the node can use together; 0 if it is unknown.
	CPU growth.MilliCPU
	// Jobs is nil if nothing is known about jobs.
	Jobs Jobs
}

// Jobs knows the jobs of pods.
type Jobs interface {
	// Sample returns the last sample of a job.
	Sample(pod growth.PodUID) (bus.Sample, bool)
	// Kind returns the kind of a job, empty if it is unknown.
	Kind(pod growth.PodUID) interference.Kind
	// RequestedCPU returns the CPU request of a pod, 0 if it is unknown.
	RequestedCPU(pod growth.PodUID) growth.MilliCPU
}

// BoundPod has the GPUs of a bound pod, from its annotation, and its request, from its spec.
type BoundPod struct {
	GPUs    []growth.GPU
	Request Request
}

// NewNode builds the Node of some records. It counts the memory of each pod once.
func NewNode(name growth.NodeName, records Records) Node {
	n := Node{
		Name: name,
		Unit: records.Inventory.Unit,
		CPU:  records.CPU,
		GPUs: make([]GPU, 0, len(records.Inventory.GPUs)),
	}
	for i, g := range records.Inventory.GPUs {
		n.GPUs = append(n.GPUs, GPU{
			UUID:    g.UUID,
			Index:   i,
			Memory:  g.Memory,
			Healthy: g.Healthy,
		})
	}
	slices.SortStableFunc(n.GPUs, byUUID)
	for _, pod := range records.pods() {
		job := observedJob(records.Jobs, pod)
		held := records.heldBy(pod)
		for _, share := range held {
			i, known := slices.BinarySearchFunc(n.GPUs, GPU{UUID: share.GPU}, byUUID)
			if !known {
				continue // the GPU has left the node
			}
			n.GPUs[i].Residents = append(n.GPUs[i].Residents, Resident{
				Pod:      pod,
				Memory:   share.Memory,
				Kind:     job.Kind,
				Growth:   growthPerGPU(job.Growth, len(held)),
				CPU:      job.CPU / growth.MilliCPU(len(held)),
				Activity: job.Activity,
				Category: job.Category,
				Left:     job.Left,
			})
		}
	}
	return n
}

// pods returns the UIDs of all pods with a record, sorted.
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

// heldBy returns the memory that a pod holds, by GPU. An allocation takes precedence over a reservation, and both take
// precedence over the annotation.
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
	memory, status := bound.Request.MemoryPerGPU(r.Inventory.Unit)
	if !status.Fits() {
		return nil // kubelet rejects such a pod too
	}
	shares := make([]growth.GPUShare, len(bound.GPUs))
	for i, g := range bound.GPUs {
		shares[i] = growth.GPUShare{GPU: g, Memory: memory}
	}
	return sumByGPU(shares)
}

// requestedBy reconstructs the reservation of a bound pod after it has expired. Its GPUs are those of the containers
// that kubelet has already allocated.
func (r Records) requestedBy(pod growth.PodUID, a bus.Allocation) bus.Reservation {
	bound, known := r.Bound[pod]
	if !known {
		return bus.Reservation{}
	}
	memory, _ := bound.Request.MemoryPerGPU(r.Inventory.Unit)
	reservation := bus.Reservation{Containers: bound.Request.ContainerRequests()}
	for _, share := range a.GPUs() {
		reservation.GPUs = append(reservation.GPUs, growth.GPUShare{GPU: share.GPU, Memory: memory})
	}
	return reservation
}

// Outstanding returns the part of a reservation whose containers have no allocation yet.
func Outstanding(r bus.Reservation, a bus.Allocation, unit growth.MiB) []growth.GPUShare {
	var outstanding []growth.GPUShare
	for _, requested := range r.Containers {
		if slices.ContainsFunc(a.Containers, func(c bus.ContainerAllocation) bool { return c.Name == requested.Name }) {
			continue
		}
		for _, share := range r.GPUs {
			memory := growth.MiB(ceilDiv(requested.Units, len(r.GPUs))) * unit
			outstanding = append(outstanding, growth.GPUShare{GPU: share.GPU, Memory: min(memory, share.Memory)})
		}
	}
	return outstanding
}

// sumByGPU sums shares by GPU, ordered by UUID. Negative amounts are invalid and count as 0.
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

// observedJob returns a job's kind, growth, CPU, activity, category and time left. A job without a report counts as new, with unknown
// activity.
func observedJob(jobs Jobs, pod growth.PodUID) Resident {
	job := Resident{Growth: NewJobGrowth}
	if jobs == nil {
		return job
	}
	job.Kind, job.CPU = jobs.Kind(pod), jobs.RequestedCPU(pod)
	s, ok := jobs.Sample(pod)
	if !ok {
		return job
	}
	job.Left = LeftOf(s)
	if cpu := CPUOf(s); cpu > 0 {
		job.CPU = cpu
	}
	if !s.Reported {
		return job
	}
	job.Growth, job.Category, job.Activity = clamp(s.Growth), s.Category, ActivityOf(s)
	return job
}

// ActivityOf returns the fraction of its step time in which a job does not wait for data; 0 if it is unknown.
func ActivityOf(s bus.Sample) growth.Share {
	return interference.ActivityOf(s.StepSeconds, s.LoadSeconds)
}

// LeftOf returns the time until a job is expected to end, as of its sample; 0 if it is unknown. A sample of an earlier release has only
// a time by the clock of its node.
func LeftOf(s bus.Sample) growth.Seconds {
	if s.ETA == nil || s.ETA.Left == nil {
		return 0
	}
	left, _ := s.Left(time.Time{})
	return left
}

// growthPerGPU returns the growth that a job has on each of its GPUs.
func growthPerGPU(g growth.Growth, gpus int) growth.Growth { return g / growth.Growth(max(1, gpus)) }

// clamp limits a fraction to 0..1. NaN becomes 1, the value of a new job.
func clamp[F ~float64](f F) F {
	if f != f {
		return 1
	}
	return min(1, max(0, f))
}
