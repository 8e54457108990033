package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// Outside has the CPU requests of a pod outside its app containers. Trellis does not change them, but kubelet and the
// scheduler count them.
type Outside struct {
	// Sidecars is the sum over the restartable init containers.
	Sidecars growth.MilliCPU
	// Init is the largest request while the pod initializes: that of an init container and of the sidecars that start
	// before it. InitContainer is the name of this container.
	Init          growth.MilliCPU
	InitContainer string
	// Overhead is the overhead of the pod's RuntimeClass.
	Overhead growth.MilliCPU
}

// Total returns the CPU request of the whole pod if its app containers request apps. It is kubelet's own sum, from which
// kubelet computes the weight of the pod's cgroup. Init containers count after they have ended, too.
func (p Pod) Total(apps Requests) growth.MilliCPU { return p.totalOf(apps.Sum()) }

func (p Pod) totalOf(apps growth.MilliCPU) growth.MilliCPU {
	return max(apps+p.Outside.Sidecars, p.Outside.Init) + p.Outside.Overhead
}

// minimum returns the smallest total that the app containers' requests can cause.
func (p Pod) minimum() growth.MilliCPU { return p.totalOf(minRequest) }

// appsFor returns the largest sum of the app containers' requests for which the total is as given. It is at least
// minRequest.
func (p Pod) appsFor(total growth.MilliCPU) growth.MilliCPU {
	return max(total-p.Outside.Overhead-p.Outside.Sidecars, minRequest)
}

// outweighed returns why the app containers' requests have no effect: an init container requests more than all app
// containers, which were created with the given requests. It is empty if they have an effect.
func (p Pod) outweighed(original Requests) string {
	o := p.Outside
	if original.Sum()+o.Sidecars >= o.Init {
		return ""
	}
	return fmt.Sprintf("its init container %s needs a CPU request of %s and the other containers only %s. Kubelet weighs the pod "+
		"by the larger, also after the init container has ended, so a smaller request has no effect: "+
		"let the app containers request %s to have it tuned", o.InitContainer, o.Init, original.Sum()+o.Sidecars, o.Init-o.Sidecars)
}
