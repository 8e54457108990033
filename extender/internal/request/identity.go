package request

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// Ref names a pod.
func Ref(pod *corev1.Pod) growth.PodRef {
	return growth.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: growth.PodUID(pod.UID)}
}

// Identity returns what identifies a pod for a move.
func Identity(pod *corev1.Pod) move.Identity {
	p := move.Identity{UID: growth.PodUID(pod.UID), Namespace: pod.Namespace, Name: pod.Name, Index: index(pod), Carries: carries(pod)}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		p.Owner = string(owner.UID)
	}
	return p
}

// carries returns the ID of the move whose checkpoint the pod has, or "".
func carries(pod *corev1.Pod) string {
	value, exists := pod.Annotations[gpushare.SavedAnnotation]
	if !exists {
		return ""
	}
	saved, err := gpushare.ParseSaved(value)
	if err != nil {
		return "" // a user wrote it
	}
	return saved.Move()
}

// index returns the number that a controller gives a pod: an Indexed Job, a StatefulSet, or a job of Kubeflow.
func index(pod *corev1.Pod) string {
	if i := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; i != "" {
		return i
	}
	if i := pod.Labels["apps.kubernetes.io/pod-index"]; i != "" {
		return i
	}
	if i := pod.Labels["training.kubeflow.org/replica-index"]; i != "" {
		return pod.Labels["training.kubeflow.org/replica-type"] + "-" + i
	}
	return ""
}
