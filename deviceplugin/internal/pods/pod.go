package pods

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
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
	// Saved is what the job has saved before it moved to this pod, or nil.
	Saved *gpushare.Saved
	// Containers are the containers that request units, in kubelet's order of admission.
	Containers []Container
}

// Container is a container that requests units.
type Container struct {
	Name  string
	Units int
	// Init marks an init container that is not a sidecar. Kubelet reuses its devices and does not list it.
	Init bool
	// Running is whether the API server reports the container as running.
	Running bool
}
