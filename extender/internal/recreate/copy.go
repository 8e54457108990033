package recreate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// maxRejections is how often a pod is recreated.
const maxRejections = 6

// Rejected reports whether kubelet rejected a pod that may be recreated.
func Rejected(pod *corev1.Pod, resource corev1.ResourceName) bool {
	reason := pod.Status.Reason
	switch {
	case pod.Status.Phase != corev1.PodFailed || pod.DeletionTimestamp != nil:
	case reason != "UnexpectedAdmissionError" && reason != "OutOf"+string(resource):
	case !requests(pod, resource):
	case metav1.GetControllerOf(pod) != nil:
	case pod.Annotations[corev1.MirrorPodAnnotationKey] != "": // a static pod
	case pod.Spec.RestartPolicy == corev1.RestartPolicyNever && started(pod):
	default:
		return rejections(pod) < maxRejections
	}
	return false
}

func requests(pod *corev1.Pod, resource corev1.ResourceName) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		units := c.Resources.Limits[resource]
		return units.Sign() > 0
	})
}

// started reports whether a container may have run: kubelet may restart, and reject a pod that it has admitted before.
func started(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
		return c.State.Waiting == nil || c.LastTerminationState.Terminated != nil
	})
}

func rejections(pod *corev1.Pod) int {
	n, _ := strconv.Atoi(pod.Annotations[gpushare.RefusalsAnnotation])
	return max(n, 0)
}

// Copy returns the pod as its user created it, as far as that is known, with one more rejection.
func Copy(pod *corev1.Pod) *corev1.Pod {
	copied := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       pod.Namespace,
			Name:            pod.Name,
			GenerateName:    pod.GenerateName,
			Labels:          maps.Clone(pod.Labels),
			Annotations:     maps.Clone(pod.Annotations),
			OwnerReferences: slices.Clone(pod.OwnerReferences),
			Finalizers:      slices.Clone(pod.Finalizers),
		},
		Spec: *pod.Spec.DeepCopy(),
	}
	maps.DeleteFunc(copied.Annotations, func(name, _ string) bool { return written(name) })
	if copied.Annotations == nil {
		copied.Annotations = map[string]string{}
	}
	copied.Annotations[gpushare.RefusalsAnnotation] = strconv.Itoa(rejections(pod) + 1)
	copied.Spec.NodeName = ""
	copied.Spec.EphemeralContainers = nil
	if copied.Spec.PriorityClassName != "" {
		copied.Spec.Priority, copied.Spec.PreemptionPolicy = nil, nil // set by admission from the class
	}
	return copied
}

// written reports whether Trellis writes an annotation.
func written(name string) bool {
	ours := []string{gpushare.GPUAnnotation, gpushare.CategoryAnnotation, gpushare.RequestAnnotation}
	return slices.Contains(ours, name) ||
		strings.HasPrefix(name, "ALIYUN_COM_GPU_MEM_")
}
