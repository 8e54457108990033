package placement

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Request is the GPU request of a pod.
type Request struct {
	// Kind is the kind of the pod's job, empty if it is unknown.
	Kind interference.Kind
	// Memory is requested on each of Count GPUs; 0 if only the containers' limits define the amount.
	Memory growth.MiB
	Count  int
	// CPU is the request of the pod, the least that its job is expected to use.
	CPU growth.MilliCPU
	// Containers are the containers with a limit, in the order in which kubelet allocates: init containers first.
	Containers []Container
}

// Container is the limit of one container.
type Container struct {
	Name  string
	Units int
	Role  Role
}

// Role is the lifecycle of a container. It determines how long the container holds its devices.
type Role int

const (
	// App containers hold their devices until the pod ends.
	App Role = iota
	// Sidecar containers are restartable init containers. They hold their devices until the pod ends.
	Sidecar
	// Init containers end before the app containers start. The app containers take over their devices.
	Init
)

// MemoryPerGPU returns the memory that the request holds on each GPU of a node with the given unit, or the reason why
// the request is invalid there.
func (r Request) MemoryPerGPU(unit growth.MiB) (growth.MiB, Status) {
	if unit <= 0 {
		return 0, unresolvable("the node publishes no unit of GPU memory")
	}
	if r.Count < 1 {
		return 0, unresolvable("GPUs: %d asked, at least 1 is needed", r.Count)
	}
	units := r.peakUnits()
	if units == 0 {
		return 0, unresolvable("no container has a limit on GPU memory: is Trellis's admission policy installed?")
	}
	held := growth.MiB(units) * unit
	if held < r.Memory {
		return 0, unresolvable("GPU memory: %s asked, but the containers' limits are %d units of %s: "+
			"the admission policy and the node disagree about the unit",
			r.Memory, units, unit)
	}
	return held, Status{}
}

// Shape is the equivalence class of a request: requests with equal shapes fit and score the same on every node.
type Shape struct {
	Kind         interference.Kind
	Memory       growth.MiB
	Count, Units int
	CPU          growth.MilliCPU
}

// Shape returns the request's equivalence class.
func (r Request) Shape() Shape {
	return Shape{
		Kind:   r.Kind,
		Memory: r.Memory,
		Count:  r.Count,
		Units:  r.peakUnits(),
		CPU:    r.cpu(),
	}
}

// Newcomer returns the job of the request on a node, which holds memory on each of its GPUs.
func (r Request) Newcomer(on Node, memory growth.MiB) Newcomer {
	return Newcomer{Kind: r.Kind, Memory: memory, Count: r.Count, CPU: on.crowding(r.cpu())}
}

// cpu returns the request in whole steps, so that there are few shapes.
func (r Request) cpu() growth.MilliCPU {
	const step = growth.Core / 2
	return min((max(0, r.CPU)+step-1)/step, 1<<20) * step
}

// peakUnits returns the largest number of units that the containers hold on each GPU at any time.
func (r Request) peakUnits() int {
	running, peak := 0, 0
	for _, c := range r.Containers {
		units := ceilDiv(c.Units, r.Count)
		if c.Role == Init {
			peak = max(peak, running+units)
			continue
		}
		running += units
	}
	return max(peak, running)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// Status is the result of a fit check. The zero value means that the request fits.
type Status struct {
	// Reason explains to the user why the request does not fit.
	Reason string
	// Unresolvable is set if removing pods would not make the request fit, like kube-scheduler's
	// UnschedulableAndUnresolvable.
	Unresolvable bool
}

// Fits reports whether the request fits.
func (s Status) Fits() bool { return s.Reason == "" }

func unresolvable(format string, args ...any) Status {
	return Status{Reason: fmt.Sprintf(format, args...), Unresolvable: true}
}

func unschedulable(format string, args ...any) Status {
	return Status{Reason: fmt.Sprintf(format, args...)}
}

// ContainerRequests returns the requests of the app and sidecar containers. It omits init containers: they hand their
// devices to later containers, and kubelet does not list them.
func (r Request) ContainerRequests() []bus.ContainerRequest {
	var requests []bus.ContainerRequest
	for _, c := range r.Containers {
		if c.Role != Init {
			requests = append(requests, bus.ContainerRequest{Name: c.Name, Units: c.Units})
		}
	}
	return requests
}
