package request

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Spec reads the annotations of a pod. A pod without gpushare.MemoryAnnotation asks by its containers' limits, on one GPU. Admission
// refuses other annotations of a user on a new pod of that kind. Its user may set them later.
func Spec(pod *corev1.Pod) (gpushare.Spec, error) {
	if gpushare.RequestsShare(pod.Annotations) {
		return gpushare.Parse(pod.Annotations)
	}
	spec, err := gpushare.ParseWithLimits(pod.Annotations)
	if err == nil && spec.Count > 1 {
		return gpushare.Parse(pod.Annotations) // several GPUs need the memory on each, and the error says so
	}
	return spec, err
}
