package placement

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Node is an immutable snapshot of a node's GPUs, the counterpart of kube-scheduler's NodeInfo.
type Node struct {
	Name growth.NodeName
	// Unit is the unit in which kubelet accounts GPU memory.
	Unit growth.MiB
	// CPU is what its jobs can use together; 0 if it is unknown.
	CPU growth.MilliCPU
	// GPUs are ordered by UUID.
	GPUs []GPU
}

// GPU is one GPU with the jobs on it.
type GPU struct {
	UUID growth.GPU
	// Index is the position of the GPU in the node's inventory, from 0.
	Index     int
	Memory    growth.MiB
	Healthy   bool
	Residents []Resident
}

// Resident is a job that holds memory on a GPU.
type Resident struct {
	Pod    growth.PodUID
	Memory growth.MiB
	// Kind is the job's kind, empty if it is unknown.
	Kind interference.Kind
	// Growth is the part of the job's growth on this GPU.
	Growth growth.Growth
	// CPU is the part of what the job uses, or could use if its node had more, that counts for this GPU; 0 if it is unknown.
	CPU growth.MilliCPU
	// Activity is the fraction of its step time in which the job does not wait for data; 0 if it is unknown.
	Activity growth.Share
	// Category is the job's category; empty before its first sample.
	Category growth.Category
	// Left is the time until the job is expected to end; 0 if it is unknown.
	Left growth.Seconds
}

// Used returns the memory that residents hold.
func (g GPU) Used() growth.MiB {
	var used growth.MiB
	for _, r := range g.Residents {
		used += r.Memory
	}
	return used
}

// Free returns the free memory. It is negative if the GPU is over-committed.
func (g GPU) Free() growth.MiB { return g.Memory - g.Used() }

// Without returns the node without a pod. It returns n itself if the pod is not on it.
func (n Node) Without(pod growth.PodUID) Node {
	isPod := func(r Resident) bool { return r.Pod == pod }
	without := n
	for i, g := range n.GPUs {
		if !slices.ContainsFunc(g.Residents, isPod) {
			continue
		}
		if &without.GPUs[0] == &n.GPUs[0] {
			without.GPUs = slices.Clone(n.GPUs)
		}
		without.GPUs[i].Residents = slices.DeleteFunc(slices.Clone(g.Residents), isPod)
	}
	return without
}

// OverCommitted returns the memory that is held in excess of the GPUs' memory. Invariant: it is 0.
func (n Node) OverCommitted() growth.MiB {
	var over growth.MiB
	for _, g := range n.GPUs {
		over += max(0, -g.Free())
	}
	return over
}

func byUUID(a, b GPU) int { return cmp.Compare(a.UUID, b.UUID) }
