package placement

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Node is a node's GPUs at one instant. It is a value to decide on and is never changed.
type Node struct {
	Name growth.NodeName
	// Unit is what kubelet accounts in. GPUs are ordered by UUID.
	Unit growth.MiB
	GPUs []GPU
}

// GPU is one device and who is on it.
type GPU struct {
	UUID growth.GPU
	// Index is its number on the node, from 0, in the order of the inventory.
	Index     int
	Memory    growth.MiB
	Healthy   bool
	Residents []Resident
}

// Resident is a job that holds memory on a GPU.
type Resident struct {
	Pod    growth.PodUID
	Memory growth.MiB
	// Growth is the part of the job's growth that happens on this GPU.
	Growth growth.Growth
	// Activity is the part of its step time in which the job does not wait for data.
	Activity growth.Share
	// Category is the job's, empty while nobody has classified it.
	Category growth.Category
}

// Used is the memory that residents hold.
func (g GPU) Used() growth.MiB {
	var used growth.MiB
	for _, r := range g.Residents {
		used += r.Memory
	}
	return used
}

// Free is what is left; negative when the GPU is over-committed.
func (g GPU) Free() growth.MiB { return g.Memory - g.Used() }

// Without is the node as it would be if pod were not on it: the node itself, where it is not.
func (n Node) Without(pod growth.PodUID) Node {
	itself := func(r Resident) bool { return r.Pod == pod }
	without := n
	for i, g := range n.GPUs {
		if !slices.ContainsFunc(g.Residents, itself) {
			continue
		}
		if &without.GPUs[0] == &n.GPUs[0] {
			without.GPUs = slices.Clone(n.GPUs)
		}
		without.GPUs[i].Residents = slices.DeleteFunc(slices.Clone(g.Residents), itself)
	}
	return without
}

// OverCommitted is the memory held beyond what the node's GPUs have. It must be nothing.
func (n Node) OverCommitted() growth.MiB {
	var over growth.MiB
	for _, g := range n.GPUs {
		over += max(0, -g.Free())
	}
	return over
}

func byUUID(a, b GPU) int { return cmp.Compare(a.UUID, b.UUID) }
