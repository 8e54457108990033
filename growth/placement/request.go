package placement

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Request is what a pod asks of a node.
type Request struct {
	// Memory is asked for on each of Count GPUs; nothing where the containers' limits alone say how much.
	Memory growth.MiB
	Count  int
	// Containers are those with a limit on the resource, in the order in which kubelet allocates: init containers first.
	Containers []Container
}

// Container is one container's limit.
type Container struct {
	Name  string
	Units int
	Role  Role
}

// Role says how long a container holds its devices.
type Role int

const (
	// App containers hold theirs as long as the pod lives.
	App Role = iota
	// Sidecar containers are init containers that stay. They hold theirs beside the app containers.
	Sidecar
	// Init containers end before the app containers start, which take over their devices.
	Init
)

// MemoryPerGPU is the memory that the request holds on each GPU of a node that accounts in units, or why it can not be had.
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
		return 0, unresolvable("GPU memory: %s asked, but the containers' limits are %d units of %s: the admission policy and the node disagree about the unit",
			r.Memory, units, unit)
	}
	return held, Status{}
}

// Shape is all of a request that a place depends on: requests of one shape fit, and are worth, the same everywhere.
type Shape struct {
	Memory       growth.MiB
	Count, Units int
}

// Shape returns the request's.
func (r Request) Shape() Shape { return Shape{Memory: r.Memory, Count: r.Count, Units: r.peakUnits()} }

// peak is the most units that the containers hold on each GPU at any time.
func (r Request) peakUnits() int {
	staying, most := 0, 0
	for _, c := range r.Containers {
		here := ceilDiv(c.Units, r.Count)
		if c.Role == Init {
			most = max(most, staying+here)
			continue
		}
		staying += here
	}
	return max(most, staying)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// Status says why a request does not fit a node. The zero value means that it does.
type Status struct {
	// Explain is a sentence for the user.
	Reason string
	// Unresolvable says that no job's leaving would change it.
	Unresolvable bool
}

// Fits tells whether there is nothing against it.
func (m Status) Fits() bool { return m.Reason == "" }

func unresolvable(format string, args ...any) Status {
	return Status{Reason: fmt.Sprintf(format, args...), Unresolvable: true}
}

func unschedulable(format string, args ...any) Status {
	return Status{Reason: fmt.Sprintf(format, args...)}
}

// ContainerRequests lists what the containers that stay will ask kubelet for. Ordinary init containers are left out: their devices
// pass on to the containers after them, and kubelet does not list them.
func (r Request) ContainerRequests() []bus.ContainerRequest {
	var lasting []bus.ContainerRequest
	for _, c := range r.Containers {
		if c.Role != Init {
			lasting = append(lasting, bus.ContainerRequest{Name: c.Name, Units: c.Units})
		}
	}
	return lasting
}
