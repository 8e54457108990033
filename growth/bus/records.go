package bus

import (
	"encoding/json"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// NodeGPUs is a node's inventory, published by its device plugin.
type NodeGPUs struct {
	Header
	// Unit is the memory that one device id stands for.
	Unit growth.MiB `json:"unitMiB"`
	// Resource is the extended resource of the devices.
	Resource string `json:"resource"`
	// Emulated means that there is no driver for these GPUs. Each output with the GPUs shows it.
	Emulated bool `json:"emulated,omitempty"`
	// Computes means that jobs do the work of each emulated GPU on a core that it owns. The time of such GPUs can be divided.
	Computes bool `json:"computes,omitempty"`
	// MPS means that the jobs of a GPU are clients of one server of NVIDIA's Multi-Process Service.
	MPS bool `json:"mps,omitempty"`
	// Unheard means that kubelet is not connected to the device plugin, because one of them has just started. kubelet
	// would refuse a pod that is bound to the node now, or allocate another GPU than planned.
	Unheard bool  `json:"unheard,omitempty"`
	GPUs    []GPU `json:"gpus"`
}

// GPU is one device.
type GPU struct {
	UUID    growth.GPU `json:"uuid"`
	Model   string     `json:"model"`
	Memory  growth.MiB `json:"memoryMiB"`
	Healthy bool       `json:"healthy"`
}

// Reservation is GPU memory that the extender has planned for a pod, until kubelet allocates it.
type Reservation struct {
	Header
	Pod growth.PodRef `json:"pod"`
	// Created is the pod's creation time: kubelet admits a node's pods in that order.
	Created time.Time `json:"created"`
	// GPUs is the share of the whole pod.
	GPUs []growth.GPUShare `json:"gpus"`
	// Containers is the same share by container, in the order of the pod.
	Containers []ContainerRequest `json:"containers"`
	// Held is set if the job of the pod moves to this node, or starts again there: the memory is for the pod that continues the job.
	// It is empty once that pod has a reservation.
	Held bool `json:"held,omitempty"`
}

// Epoch is the last pod with a new reservation on a GPU. Its revision is a fencing token: a decision about the GPU is
// valid unless the record was written after the revision that the decision is based on.
type Epoch struct {
	Header
	Pod growth.PodRef `json:"pod"`
}

// ContainerRequest is the number of units that one container requests from kubelet.
type ContainerRequest struct {
	Name  string `json:"name"`
	Units int    `json:"units"`
}

// Allocation is the GPU memory that kubelet has allocated to a pod.
type Allocation struct {
	Header
	Pod        growth.PodRef         `json:"pod"`
	Containers []ContainerAllocation `json:"containers"`
}

// ContainerAllocation is the part of one container.
type ContainerAllocation struct {
	Name string            `json:"name"`
	GPUs []growth.GPUShare `json:"gpus"`
	IDs  []string          `json:"ids"`
	// Slot is the name of the folder that is mounted into the container: <StateDir>/slots/<Slot>.
	Slot string `json:"slot"`
}

// GPUs sums the allocation by GPU, in order of first appearance.
func (a Allocation) GPUs() []growth.GPUShare {
	var sum []growth.GPUShare
	for _, c := range a.Containers {
	next:
		for _, share := range c.GPUs {
			for i := range sum {
				if sum[i].GPU == share.GPU {
					sum[i].Memory += share.Memory
					continue next
				}
			}
			sum = append(sum, share)
		}
	}
	return sum
}

// Refusal is a pod that kubelet has refused. It is written before the pod is deleted, and removed after it is
// recreated.
type Refusal struct {
	Header
	Ref growth.PodRef `json:"pod"`
	// Again is the pod to create, as JSON for the API server.
	Again json.RawMessage `json:"again"`
	// Reason and Message are kubelet's, from the status of the refused pod.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// NodeLoad is the load of a node, published by its coordinator.
type NodeLoad struct {
	Header
	// CPUPool is the CPU that the jobs of the node share.
	CPUPool growth.MilliCPU `json:"cpuPoolMilli"`
	// CPUUsed is the CPU that the jobs use.
	CPUUsed growth.MilliCPU `json:"cpuUsedMilli"`
	// CPUCapacity is the CPU that jobs can use together. Requests do not bound it; 0 by older writers.
	CPUCapacity growth.MilliCPU `json:"cpuCapacityMilli,omitempty"`
	// Pressure is the pressure of the whole node over the last interval; absent without PSI.
	Pressure *Pressure `json:"pressure,omitempty"`
	// LoaderBudget is the number of cores for data-loader workers: those that training processes do not use.
	LoaderBudget int `json:"loaderBudget"`
	// Policy is the name of the node's policy.
	Policy string `json:"policy"`
}

// MaxSpeeds bounds the measurements of Speeds.
const MaxSpeeds = 64

// Speeds are the speeds of jobs that compute on one GPU at the same time, as a node has measured them. Readers ignore
// measurements that are not valid, and all after the first MaxSpeeds.
type Speeds struct {
	Header
	Sets []interference.Measurement `json:"sets"`
}

// Width is a recommended number of workers; 0 once nothing is recommended any more. Changes counts the recommendations so far.
type Width struct {
	elastic.Recommendation
	Changes int `json:"changes"`
}

// Advice is what the tuner recommends for a job. The coordinator delivers it and observes the effect.
type Advice struct {
	Header
	// Generation increases with each change of what the job is sent.
	Generation int64 `json:"generation"`
	Loaders    *int  `json:"loaders,omitempty"`
	BatchSize  *int  `json:"batchSize,omitempty"`
	// Reason explains Loaders to users, in one sentence, and BatchReason BatchSize.
	Reason      string `json:"reason,omitempty"`
	BatchReason string `json:"batchReason,omitempty"`
	// Resources is what the job should request; nil if nothing is known. It is no part of Generation.
	Resources *peaks.Recommendation `json:"resources,omitempty"`
	// Width is the number of workers that the job should have; nil if its present one should stay. It is no part of Generation.
	Width *Width `json:"width,omitempty"`
	// Limit explains to users what keeps Loaders from being larger, and what they can do. It is empty if nothing does.
	Limit string `json:"limit,omitempty"`
}
