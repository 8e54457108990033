package aliyun

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Inspection is the response of GET /inspect. All amounts are in the units of the node.
type Inspection struct {
	Nodes []Node `json:"nodes"`
	// Error is the reason for an empty response.
	Error string `json:"error,omitempty"`
}

// Node is a node in an Inspection.
type Node struct {
	Name  string `json:"name"`
	Total int    `json:"totalGPU"`
	Used  int    `json:"usedGPU"`
	GPUs  []GPU  `json:"devs"`
}

// GPU is a GPU in an Inspection. ID is its index on the node.
type GPU struct {
	ID    int   `json:"id"`
	Total int   `json:"totalGPU"`
	Used  int   `json:"usedGPU"`
	Pods  []Pod `json:"pods"`
}

// Pod is a pod that holds memory on a GPU.
type Pod struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Used      int    `json:"usedGPU"`
}

// Inspect returns the inspection of a node. inventory determines the indices of the GPUs; named returns the name of a
// pod.
func Inspect(n placement.Node, inventory bus.NodeGPUs, named func(growth.PodUID) growth.PodRef) Node {
	node := Node{Name: string(n.Name), GPUs: make([]GPU, 0, len(inventory.GPUs))}
	for i, device := range inventory.GPUs {
		gpu := GPU{ID: i, Total: unitsIn(device.Memory, n.Unit), Pods: []Pod{}}
		if at := slices.IndexFunc(n.GPUs, func(g placement.GPU) bool { return g.UUID == device.UUID }); at >= 0 {
			gpu.Used = unitsFor(n.GPUs[at].Used(), n.Unit)
			for _, r := range n.GPUs[at].Residents {
				ref := named(r.Pod)
				gpu.Pods = append(gpu.Pods, Pod{
					Name:      ref.Name,
					Namespace: ref.Namespace,
					Used:      unitsFor(r.Memory, n.Unit),
				})
			}
		}
		slices.SortFunc(gpu.Pods, func(a, b Pod) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		node.Total += gpu.Total
		node.Used += gpu.Used
		node.GPUs = append(node.GPUs, gpu)
	}
	return node
}

// DeviceIndex returns the index of a GPU in the inventory, and its memory in units.
func DeviceIndex(inventory bus.NodeGPUs, gpu growth.GPU) (index, units int, known bool) {
	i := slices.IndexFunc(inventory.GPUs, func(g bus.GPU) bool { return g.UUID == gpu })
	if i < 0 {
		return 0, 0, false
	}
	return i, unitsIn(inventory.GPUs[i].Memory, inventory.Unit), true
}

// unitsIn returns the number of whole units in an amount of memory, as the device plugin advertises it.
func unitsIn(memory, unit growth.MiB) int {
	if unit <= 0 || memory <= 0 {
		return 0
	}
	return int(memory / unit)
}

// unitsFor returns the number of units that an amount of memory requires.
func unitsFor(memory, unit growth.MiB) int {
	if unit <= 0 || memory <= 0 {
		return 0
	}
	return int((memory + unit - 1) / unit)
}
