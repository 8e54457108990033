package recreate

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// maxRejections is how often a pod is recreated.
const maxRejections = 6

// The reasons with which kubelet rejects a pod for want of a resource. The name of the resource follows insufficient.
const (
	admissionError = "UnexpectedAdmissionError"
	topologyError  = "TopologyAffinityError"
	insufficient   = "OutOf"
)

// Rejected reports whether kubelet rejected a pod that may be recreated: nothing on the pod shows that it ever ran.
func Rejected(pod *corev1.Pod, resource corev1.ResourceName) bool {
	return refused(pod, resource) && ranBefore(pod) == "" && rejections(pod) < maxRejections
}

// refused reports whether kubelet rejected a bare pod with a share.
func refused(pod *corev1.Pod, resource corev1.ResourceName) bool {
	switch {
	case pod.Status.Phase != corev1.PodFailed || pod.DeletionTimestamp != nil:
	case !isRejection(pod.Status.Reason, resource):
	case !requests(pod, resource):
	case metav1.GetControllerOf(pod) != nil:
	case pod.Annotations[corev1.MirrorPodAnnotationKey] != "": // a static pod
	default:
		return true
	}
	return false
}

// isRejection reports whether kubelet gives this reason to pods that it does not admit for want of a resource.
func isRejection(reason string, resource corev1.ResourceName) bool {
	if name, ok := strings.CutPrefix(reason, insufficient); ok {
		known := []corev1.ResourceName{
			corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods, resource,
		}
		return slices.Contains(known, corev1.ResourceName(name))
	}
	return reason == admissionError || reason == topologyError
}

func requests(pod *corev1.Pod, resource corev1.ResourceName) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		units := c.Resources.Limits[resource]
		return units.Sign() > 0
	})
}

func rejections(pod *corev1.Pod) int {
	n, _ := strconv.Atoi(pod.Annotations[gpushare.RefusalsAnnotation])
	return max(n, 0)
}
