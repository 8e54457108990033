package aliyun

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Inspection is the answer of GET /inspect. All amounts are in the nodes' units.
type Inspection struct {
	Nodes []Node `json:"nodes"`
	// Error says why there is nothing to show.
	Error string `json:"error,omitempty"`
}

// Node is one node's part of it.
type Node struct {
	Name  string `json:"name"`
	Total int    `json:"totalGPU"`
	Used  int    `json:"usedGPU"`
	GPUs  []GPU  `json:"devs"`
}

// GPU is one device, ID its number on the node.
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

// Inspect shows a node as its books have it. The inventory gives the GPUs their numbers, named says what a pod is called.
func Inspect(n placement.Node, inventory bus.NodeGPUs, named func(growth.PodUID) growth.PodRef) Node {
	shown := Node{Name: string(n.Name), GPUs: make([]GPU, 0, len(inventory.GPUs))}
	for i, device := range inventory.GPUs {
		gpu := GPU{ID: i, Total: unitsIn(device.Memory, n.Unit), Pods: []Pod{}}
		if at := slices.IndexFunc(n.GPUs, func(g placement.GPU) bool { return g.UUID == device.UUID }); at >= 0 {
			gpu.Used = unitsFor(n.GPUs[at].Used(), n.Unit)
			for _, r := range n.GPUs[at].Residents {
				ref := named(r.Pod)
				gpu.Pods = append(gpu.Pods, Pod{Name: ref.Name, Namespace: ref.Namespace, Used: unitsFor(r.Memory, n.Unit)})
			}
		}
		slices.SortFunc(gpu.Pods, func(a, b Pod) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		shown.Total, shown.Used = shown.Total+gpu.Total, shown.Used+gpu.Used
		shown.GPUs = append(shown.GPUs, gpu)
	}
	return shown
}

// DeviceIndex is a GPU's place in the inventory, with what it has in units.
func DeviceIndex(inventory bus.NodeGPUs, gpu growth.GPU) (index, units int, known bool) {
	i := slices.IndexFunc(inventory.GPUs, func(g bus.GPU) bool { return g.UUID == gpu })
	if i < 0 {
		return 0, 0, false
	}
	return i, unitsIn(inventory.GPUs[i].Memory, inventory.Unit), true
}

// whole counts the units that memory makes, as the device plugin advertises them.
func unitsIn(memory, unit growth.MiB) int {
	if unit <= 0 || memory <= 0 {
		return 0
	}
	return int(memory / unit)
}

// begun counts the units that memory takes.
func unitsFor(memory, unit growth.MiB) int {
	if unit <= 0 || memory <= 0 {
		return 0
	}
	return int((memory + unit - 1) / unit)
}
