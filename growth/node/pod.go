package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Pod is the part of a pod on which decisions depend.
type Pod struct {
	Ref         growth.PodRef
	Annotations map[string]string
	Running     bool
	// Deadline is the time until which kubelet lets the processes of a deleted pod run; zero for a pod that is not deleted.
	Deadline time.Time
	// Created is the time of the pod's creation; zero if it is unknown.
	Created time.Time
	// Started is the start time of the first container; zero if none has started.
	Started time.Time
	// Program identifies the images, commands and environment of the containers, without the numbers in them. Similar
	// jobs have equal Programs.
	Program string
	// Anywhere is likewise without the namespace, the same on all nodes.
	Anywhere string
	// Numbers are the numbers that Program omits: those of the command lines in order, then those of the environment.
	Numbers []string
	// Owner is the UID of the object that has created the pod: its controller, or the JobSet of its controller. It is
	// empty for a pod that a user has created.
	Owner string
	// Command identifies the images and commands of the containers with their numbers, except numbers of ranks.
	Command string
	// Distributed is set if the command or the environment is that of a process in a job of several pods.
	Distributed bool
	// Scheduler is the scheduler that the pod names.
	Scheduler string
	// HostNetwork is set for a pod that shares the node's network.
	HostNetwork bool
	// Priority is the value of the pod's PriorityClass; 0 if it has none.
	Priority int32
	// SharedMemory is the size of /dev/shm in the container that trains; 0 if it is unknown or has no limit of its own.
	SharedMemory growth.MiB
	// Threads is the size of the thread pools of each process of the container that trains; 0 if the pod does not set it.
	Threads int
	// Volumes are the folders at which the container that trains mounts volumes.
	Volumes []string
	// Probed is set if kubelet restarts a container of the pod that does not answer (liveness probe).
	Probed bool
	// Containers are the app containers, in the pod's order. Their requests may be changed.
	Containers []Container
	// Memory is the memory request of the container that trains.
	Memory PodMemory
	// Outside has the CPU requests of the other containers.
	Outside Outside
	// Burstable is set if the QoS class of the pod stays Burstable even if all CPU requests equal their limits.
	Burstable bool
	// ByLimits is set for a pod that requests GPU memory only by its containers' limits, without the annotation.
	ByLimits bool
	// ResizedBy is the field manager that wrote the present CPU requests through the resize subresource. It is empty if
	// they were never resized, or if it is unknown.
	ResizedBy string
	// Fixed is the reason why the pod's CPU request cannot be changed. It is empty if it can.
	Fixed string
	// ResizeStatus is set while kubelet has not applied a resize.
	ResizeStatus ResizeStatus
}

// Container is one container of a Pod.
type Container struct {
	Name string
	// Request is the CPU request in the spec, Limit the CPU limit. 0 means none.
	Request, Limit growth.MilliCPU
	// Allocated is the request that kubelet has admitted (allocatedResources); 0 if unknown. It lags behind Request.
	Allocated growth.MilliCPU
	// ID is the runtime's ID of the container. It is empty while the container does not run.
	ID string
	// Ended is set if the container has run and does not run now, and Failed to why, if it has ended with an error: "exit code 1".
	Ended  bool
	Failed string
}

// ResizeStatus is the reason and message of the pod condition PodResizePending.
type ResizeStatus struct{ Reason, Message string }

// Infeasible is the reason of a resize that kubelet will not retry.
const Infeasible = "Infeasible"

// Infeasible reports whether kubelet will not retry the resize.
func (s ResizeStatus) Infeasible() bool { return s.Reason == Infeasible }

// Limit returns the sum of the containers' CPU limits; 0 if a container has no limit.
func (p Pod) Limit() growth.MilliCPU {
	var sum growth.MilliCPU
	for _, c := range p.Containers {
		if c.Limit == 0 {
			return 0
		}
		sum += c.Limit
	}
	return sum
}

// Trainer returns the container that trains: the pod's default container, else its first. It returns a zero Container
// for a pod without containers.
func (p Pod) Trainer() Container {
	named := p.Annotations["kubectl.kubernetes.io/default-container"]
	for _, c := range p.Containers {
		if c.Name == named {
			return c
		}
	}
	if len(p.Containers) > 0 {
		return p.Containers[0]
	}
	return Container{}
}

// Ended reports whether the processes that train have ended. The phase of the pod follows later, or never while another
// container runs.
func (p Pod) Ended() bool { return p.Trainer().Ended }

// Request returns the sum of the containers' present CPU requests.
func (p Pod) Request() growth.MilliCPU {
	var sum growth.MilliCPU
	for _, c := range p.Containers {
		sum += c.Request
	}
	return sum
}

// differs reports whether a resize that was refused before may succeed now: names, limits or IDs of containers differ.
func (p Pod) differs(before Pod) bool {
	if len(before.Containers) != len(p.Containers) {
		return true
	}
	for i, c := range p.Containers {
		was := before.Containers[i]
		if was.Name != c.Name || was.Limit != c.Limit || was.ID != c.ID {
			return true
		}
	}
	return false
}
