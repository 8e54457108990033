package pods

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/node"
)

// fixed returns the reason why the CPU of a pod cannot be changed, and what would change that; empty if it can.
func fixed(p *corev1.Pod, pod node.Pod) string {
	switch {
	case p.Annotations[corev1.MirrorPodAnnotationKey] != "":
		return "it is a static pod, whose requests only its file on the node changes"
	case p.Status.QOSClass == corev1.PodQOSGuaranteed && Exclusive(p) > 0:
		return fmt.Sprintf("its QoS class is Guaranteed, with %d whole cores, which kubelet's static CPU manager gives to it alone: "+
			"give it a CPU request below its limit to have it tuned", Exclusive(p))
	case p.Status.QOSClass == corev1.PodQOSGuaranteed:
		return "its QoS class is Guaranteed: give it a CPU request below its limit to have it tuned"
	case hasPodLevel(p):
		return "its CPU is set for the pod as a whole (spec.resources): set CPU requests per container to have it tuned"
	case pod.Request() == 0:
		return "it has no CPU request: give it one to have it tuned"
	}
	for _, c := range p.Spec.Containers {
		for _, policy := range c.ResizePolicy {
			if policy.ResourceName == corev1.ResourceCPU && policy.RestartPolicy == corev1.RestartContainer {
				return "container " + c.Name + " asks to be restarted when its CPU changes (resizePolicy): remove that to have it tuned"
			}
		}
	}
	return ""
}

// hasPodLevel reports whether the pod as a whole has a CPU request or limit. One for memory alone does not matter.
func hasPodLevel(p *corev1.Pod) bool {
	if p.Spec.Resources == nil {
		return false
	}
	_, request := p.Spec.Resources.Requests[corev1.ResourceCPU]
	_, limit := p.Spec.Resources.Limits[corev1.ResourceCPU]
	return request || limit
}

// staysBurstable reports whether memory alone keeps a pod out of the QoS class Guaranteed.
func staysBurstable(p *corev1.Pod) bool {
	for _, c := range append(p.Spec.InitContainers[:len(p.Spec.InitContainers):len(p.Spec.InitContainers)], p.Spec.Containers...) {
		limit, limited := c.Resources.Limits[corev1.ResourceMemory]
		request, requested := c.Resources.Requests[corev1.ResourceMemory]
		if !limited || (requested && request.Cmp(limit) != 0) {
			return true
		}
	}
	return false
}
