package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Pod is one pod of this node, reduced to what decisions need.
type Pod struct {
	Ref         growth.PodRef
	Annotations map[string]string
	Running     bool
	// Started is when its first container started, zero while none has.
	Started time.Time
	// Program identifies what the containers run, without the numbers in it. Pods of one Program do the same with other
	// numbers.
	Program string
	// Numbers are those in the order in which they are written, then those of the environment.
	Numbers []string
	// HostNetwork is set for a pod that shares the node's network.
	HostNetwork bool
	// Containers are the ordinary ones, in the pod's order.
	Containers []Container
	// Fixed is the reason why the CPU of this pod cannot be changed. It is empty if it can.
	Fixed string
	// ResizeStatus is kubelet's answer to a resize that is not in effect.
	ResizeStatus ResizeStatus
}

// Container is one container.
type Container struct {
	Name string
	// Request is the CPU request in the spec, Limit the CPU limit. 0 means none.
	Request, Limit growth.MilliCPU
	// Allocated is the request that kubelet has admitted, 0 if unknown. It lags behind Request.
	Allocated growth.MilliCPU
	// ID is the runtime's ID of the running container. It is empty while none runs.
	ID string
}

// ResizeStatus is the reason and message of the pod condition PodResizePending.
type ResizeStatus struct{ Reason, Message string }

// Infeasible is the reason of a resize that kubelet will not retry.
const Infeasible = "Infeasible"

// Infeasible reports whether kubelet has given the resize up.
func (s ResizeStatus) Infeasible() bool { return s.Reason == Infeasible }

// Limit is the CPU limit of all containers together, 0 if one of them has none.
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

// Trainer is the container that trains: the pod's default container, else its first. It is empty for a pod without
// containers.
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

// Request is the CPU request of all containers now.
func (p Pod) Request() growth.MilliCPU {
	var sum growth.MilliCPU
	for _, c := range p.Containers {
		sum += c.Request
	}
	return sum
}

// differs reports whether a pod has changed in more than its requests and kubelet's answers to them.
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
