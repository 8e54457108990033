package pods

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// outside returns the requests outside the app containers, by the rules of kubelet's sum (PodRequests of
// k8s.io/component-helpers).
func outside(p *corev1.Pod) node.Outside {
	o := node.Outside{Overhead: milli(p.Spec.Overhead)}
	for _, c := range p.Spec.InitContainers {
		request := milli(c.Resources.Requests)
		if sidecar(c) {
			o.Sidecars += request
			request = 0
		}
		if request+o.Sidecars > o.Init {
			o.Init = request + o.Sidecars
			o.InitContainer = c.Name
		}
	}
	return o
}

// Accounted returns the CPU request of a pod as the scheduler and the quota controller account it: of each container the
// largest of its request, the allocated one and the one in effect. It is 0 for a pod that has ended.
func Accounted(p *corev1.Pod) growth.MilliCPU {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return 0
	}
	if cpu, ok := podLevel(p); ok {
		return cpu + milli(p.Spec.Overhead)
	}
	o := outside(p)
	apps := growth.MilliCPU(0)
	for _, c := range p.Spec.Containers {
		apps += effective(c, p.Status.ContainerStatuses)
	}
	return max(apps+o.Sidecars, o.Init) + o.Overhead
}

func effective(c corev1.Container, statuses []corev1.ContainerStatus) growth.MilliCPU {
	request := milli(c.Resources.Requests)
	for _, s := range statuses {
		if s.Name != c.Name {
			continue
		}
		request = max(request, milli(s.AllocatedResources))
		if s.Resources != nil {
			request = max(request, milli(s.Resources.Requests))
		}
	}
	return request
}

// podLevel returns the CPU request that is set for the pod as a whole. It replaces those of the containers.
func podLevel(p *corev1.Pod) (growth.MilliCPU, bool) {
	if p.Spec.Resources == nil {
		return 0, false
	}
	cpu, ok := p.Spec.Resources.Requests[corev1.ResourceCPU]
	return growth.MilliCPU(cpu.MilliValue()), ok
}

// sidecar reports whether an init container is restartable, so that it runs next to the app containers.
func sidecar(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func milli(list corev1.ResourceList) growth.MilliCPU { return growth.MilliCPU(list.Cpu().MilliValue()) }
