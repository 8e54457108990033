package bus

import (
	"encoding/json"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// NodeGPUs is a node's inventory, published by its device plugin.
type NodeGPUs struct {
	Header
	// Unit is the memory one device id stands for; Resource the extended resource they are advertised as.
	Unit     growth.MiB `json:"unitMiB"`
	Resource string     `json:"resource"`
	// Emulated says that no driver stands behind these GPUs. It is shown wherever they are.
	Emulated bool `json:"emulated,omitempty"`
	// Unheard says that the node's kubelet does not listen to the device plugin just now, because one of them has only
	// begun: pods that are bound to the node meanwhile it would refuse, or give to another GPU than was planned.
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

// Reservation is room that the extender keeps for a pod between choosing its node and kubelet's allocation.
type Reservation struct {
	Header
	Pod growth.PodRef `json:"pod"`
	// Created is the pod's creation time: kubelet admits a node's pods in that order.
	Created time.Time `json:"created"`
	// GPUs is the pod's whole share, Containers the same by container, in the pod's order.
	GPUs       []growth.GPUShare  `json:"gpus"`
	Containers []ContainerRequest `json:"containers"`
}

// Epoch says who was the last to reserve on a GPU. What counts is the revision that wrote it: a decision about the GPU
// holds if that is none after the revision it was taken on.
type Epoch struct {
	Header
	Pod growth.PodRef `json:"pod"`
}

// ContainerRequest is what one container will ask kubelet for.
type ContainerRequest struct {
	Name  string `json:"name"`
	Units int    `json:"units"`
}

// Allocation is what kubelet really gave a pod.
type Allocation struct {
	Header
	Pod        growth.PodRef         `json:"pod"`
	Containers []ContainerAllocation `json:"containers"`
}

// ContainerAllocation is one container's part.
type ContainerAllocation struct {
	Name string            `json:"name"`
	GPUs []growth.GPUShare `json:"gpus"`
	IDs  []string          `json:"ids"`
	// Slot names the folder that is mounted into the container: <StateDir>/slots/<Slot>.
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

// Refusal is a pod that kubelet refused, written before it is deleted and removed once it is submitted again.
type Refusal struct {
	Header
	Ref growth.PodRef `json:"pod"`
	// Again is the pod to submit, as the API server takes it.
	Again json.RawMessage `json:"again"`
}

// NodeLoad is how busy a node is, as its coordinator sees it.
type NodeLoad struct {
	Header
	// CPUPool is what jobs share on this node, CPUUsed what they use of it.
	CPUPool growth.MilliCPU `json:"cpuPoolMilli"`
	CPUUsed growth.MilliCPU `json:"cpuUsedMilli"`
	// Pressure is the whole node's, over the last interval; absent where its kernel does not say.
	Pressure *Pressure `json:"pressure,omitempty"`
	// LoaderBudget is how many cores data-loader workers may keep busy: those that training processes leave.
	LoaderBudget int `json:"loaderBudget"`
	// Policy is the node's share policy.
	Policy string `json:"policy"`
}

// Sample is a job as its coordinator last saw it.
type Sample struct {
	Header
	Pod  growth.PodRef   `json:"pod"`
	Node growth.NodeName `json:"node"`
	GPUs []growth.GPU    `json:"gpus"`

	// Progress, from the job's own reports.
	Step       int64   `json:"step"`
	Epoch      int64   `json:"epoch,omitempty"`
	TotalSteps int64   `json:"totalSteps,omitempty"`
	Metric     string  `json:"metric,omitempty"`
	Value      float64 `json:"value,omitempty"`
	// Reported is false until the first report: such a job is never taken for converged.
	Reported bool `json:"reported"`

	// What the classifier made of it.
	Growth   growth.Growth   `json:"growth"`
	Category growth.Category `json:"category"`
	// State continues the decisions about the job after a restart of its coordinator. It is JSON with a version of its own
	// (package node), and nobody else reads it.
	State json.RawMessage `json:"state,omitempty"`

	// CPU: what the job uses, the share it was decided, the request in force and the cgroup's weight as read back.
	CPUUsed    growth.MilliCPU `json:"cpuUsedMilli"`
	Share      growth.Share    `json:"share"`
	CPURequest growth.MilliCPU `json:"cpuRequestMilli"`
	Weight     int64           `json:"weight,omitempty"`
	MemoryUsed growth.MiB      `json:"memoryUsedMiB,omitempty"`
	// BlockIO and NetworkIO are bytes per second over the last interval, Pressure the part of it that some process of
	// the pod waited for a resource; absent where the node's kernel does not say.
	BlockIO   growth.PerSecond `json:"blockIOBytesPerSecond,omitempty"`
	NetworkIO growth.PerSecond `json:"networkIOBytesPerSecond,omitempty"`
	Pressure  *Pressure        `json:"pressure,omitempty"`

	// Throughput and how a step's time splits, means over the last interval.
	SamplesPerSecond growth.PerSecond `json:"samplesPerSecond,omitempty"`
	StepSeconds      growth.Seconds   `json:"stepSeconds,omitempty"`
	LoadSeconds      growth.Seconds   `json:"loadSeconds,omitempty"`
	BatchSize        *int             `json:"batchSize,omitempty"`
	Loaders          *int             `json:"loaders,omitempty"`
	// Duty is the part of the time in which the job may compute; absent for a job that was sent none.
	Duty *growth.Share `json:"duty,omitempty"`

	// Generation is the newest config sent, Applied the newest acknowledged.
	Generation int64 `json:"generation,omitempty"`
	Applied    int64 `json:"applied,omitempty"`
	// Tunable lists what the user permits Trellis to change.
	Tunable []string `json:"tunable,omitempty"`
}

// Pressure is the part of the time that somebody waited for a resource which others had (the kernel's PSI, "some").
type Pressure struct {
	CPU    growth.Share `json:"cpu"`
	Memory growth.Share `json:"memory"`
	IO     growth.Share `json:"io"`
}

// Advice is what the tuner recommends for a job. The coordinator delivers it and observes the effect.
type Advice struct {
	Header
	// Generation grows with every change of the advice.
	Generation int64 `json:"generation"`
	Loaders    *int  `json:"loaders,omitempty"`
	BatchSize  *int  `json:"batchSize,omitempty"`
	// Reason is a sentence for people.
	Reason string `json:"reason,omitempty"`
}
