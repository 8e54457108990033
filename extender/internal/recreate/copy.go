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

// most is how often a pod is submitted again.
const most = 6

// Refused tells whether kubelet refused a pod that may be made again.
func Refused(pod *corev1.Pod, resource corev1.ResourceName) bool {
	reason := pod.Status.Reason
	switch {
	case pod.Status.Phase != corev1.PodFailed || pod.DeletionTimestamp != nil:
	case reason != "UnexpectedAdmissionError" && reason != "OutOf"+string(resource):
	case !asks(pod, resource):
	case metav1.GetControllerOf(pod) != nil:
	case pod.Annotations[corev1.MirrorPodAnnotationKey] != "": // kubelet's own
	case pod.Spec.RestartPolicy == corev1.RestartPolicyNever && begun(pod):
	default:
		return refusals(pod) < most
	}
	return false
}

func asks(pod *corev1.Pod, resource corev1.ResourceName) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		units := c.Resources.Limits[resource]
		return units.Sign() > 0
	})
}

// begun tells whether a container may have run: kubelet may die and refuse a pod that it had taken in before.
func begun(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
		return c.State.Waiting == nil || c.LastTerminationState.Terminated != nil
	})
}

func refusals(pod *corev1.Pod) int {
	n, _ := strconv.Atoi(pod.Annotations[gpushare.RefusalsAnnotation])
	return max(n, 0)
}

// Again is the pod as its user made it, as far as that can be told, with one more refusal.
func Again(pod *corev1.Pod) *corev1.Pod {
	again := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, GenerateName: pod.GenerateName, Labels: maps.Clone(pod.Labels),
			Annotations: maps.Clone(pod.Annotations), OwnerReferences: slices.Clone(pod.OwnerReferences), Finalizers: slices.Clone(pod.Finalizers),
		},
		Spec: *pod.Spec.DeepCopy(),
	}
	maps.DeleteFunc(again.Annotations, func(name, _ string) bool { return ours(name) })
	if again.Annotations == nil {
		again.Annotations = map[string]string{}
	}
	again.Annotations[gpushare.RefusalsAnnotation] = strconv.Itoa(refusals(pod) + 1)
	again.Spec.NodeName = ""
	again.Spec.EphemeralContainers = nil
	if again.Spec.PriorityClassName != "" {
		again.Spec.Priority, again.Spec.PreemptionPolicy = nil, nil // follow from the class
	}
	return again
}

// ours are the annotations that Trellis writes.
func ours(name string) bool {
	return slices.Contains([]string{gpushare.GPUAnnotation, gpushare.CategoryAnnotation, gpushare.RequestAnnotation}, name) ||
		strings.HasPrefix(name, "ALIYUN_COM_GPU_MEM_")
}
