package allocations

import (
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Pod is the part of a pod that allocations depend on. The pod is bound to this node.
type Pod struct {
	Ref     growth.PodRef
	Created time.Time
	// Finished pods have ended for good: kubelet frees their devices.
	Finished bool
	// Terminating pods are being deleted.
	Terminating bool
	// Count is the number of GPUs that share a container's units.
	Count int
	// Planned are the GPUs named by the pod's Binding.
	Planned []growth.GPU
	// GPUIndex is the index of the GPU that another sharer's scheduler chose, or nil.
	GPUIndex *int
	// Cores is the requested percentage of a GPU's compute, or 0.
	Cores int
	// Containers are the containers that request units, in kubelet's order of admission.
	Containers []Container
}

// Container is a container that requests units.
type Container struct {
	Name  string
	Units int
	// Init marks an init container that is not a sidecar. Kubelet reuses its devices and does not list it.
	Init bool
}

// allocation returns the record of the devices that kubelet gave to a pod's containers.
func (s Snapshot) allocation(pod Pod, devices []kubelet.ContainerDevices) (bus.Allocation, error) {
	a := bus.Allocation{Pod: pod.Ref}
	for _, d := range devices {
		if slice.HasForeign(d.IDs) {
			imported, err := s.imported(pod, d)
			if err != nil {
				return bus.Allocation{}, err
			}
			a.Containers = append(a.Containers, imported)
			continue
		}
		parts, err := slice.Spread(d.IDs)
		if err != nil {
			return bus.Allocation{}, err
		}
		a.Containers = append(a.Containers, bus.ContainerAllocation{
			Name: d.Container,
			GPUs: slice.Shares(parts, s.Unit),
			IDs:  d.IDs,
			Slot: slice.Slot(d.IDs),
		})
	}
	return a, nil
}
