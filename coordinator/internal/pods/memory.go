package pods

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// memory returns the memory request of the container that trains.
func memory(p *corev1.Pod, trainer string) node.PodMemory {
	m := node.PodMemory{Container: trainer, ResizedBy: lastResizer(p, "f:memory")}
	for _, c := range p.Spec.Containers {
		if c.Name == trainer {
			m.Request, m.Limit = memoryMiB(c.Resources.Requests), memoryMiB(c.Resources.Limits)
			m.Fixed = fixedMemory(p, c)
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.Name != trainer {
			continue
		}
		if _, ok := s.AllocatedResources[corev1.ResourceMemory]; ok {
			m.Allocated = memoryMiB(s.AllocatedResources)
		} else if s.Resources != nil {
			m.Allocated = memoryMiB(s.Resources.Requests)
		}
	}
	return m
}

// fixedMemory returns the reason why a memory request cannot be changed, and what would change that; empty if it can.
func fixedMemory(p *corev1.Pod, trainer corev1.Container) string {
	request, requested := trainer.Resources.Requests[corev1.ResourceMemory]
	limit, limited := trainer.Resources.Limits[corev1.ResourceMemory]
	switch {
	case p.Status.QOSClass == corev1.PodQOSGuaranteed:
		return "its QoS class is Guaranteed: give it a memory request below its limit to have it tuned"
	case p.Spec.Resources != nil && (hasMemory(p.Spec.Resources.Requests) || hasMemory(p.Spec.Resources.Limits)):
		return "its memory is set for the pod as a whole (spec.resources): set memory requests per container to have it tuned"
	case !requested || request.Sign() <= 0:
		return "it has no memory request: give it one to have it tuned"
	case limited && request.Cmp(limit) >= 0:
		return "its memory request equals its limit: give it a smaller request to have it tuned"
	case len(p.Spec.Containers) > 1:
		return "it has several containers, whose memory is measured together"
	}
	for _, policy := range trainer.ResizePolicy {
		if policy.ResourceName == corev1.ResourceMemory && policy.RestartPolicy == corev1.RestartContainer {
			return "container " + trainer.Name + " asks to be restarted when its memory changes (resizePolicy): remove that to have it tuned"
		}
	}
	return ""
}

func hasMemory(list corev1.ResourceList) bool {
	_, ok := list[corev1.ResourceMemory]
	return ok
}

// memoryMiB returns the memory in a list, rounded up.
func memoryMiB(list corev1.ResourceList) growth.MiB {
	return growth.MiB((list.Memory().Value() + 1<<20 - 1) >> 20)
}
