package recreate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Admissible returns a new pod as admission accepts it, and the annotations that it lacks then. Admission refuses annotations of a
// user on a new pod that asks by its containers' limits alone, although its user may set them later.
func Admissible(pod *corev1.Pod) (accepted *corev1.Pod, withheld map[string]string) {
	if gpushare.RequestsShare(pod.Annotations) {
		return pod, nil
	}
	accepted, withheld = pod.DeepCopy(), map[string]string{}
	for _, name := range gpushare.UserAnnotations() {
		if value, set := pod.Annotations[name]; set {
			withheld[name] = value
			delete(accepted.Annotations, name)
		}
	}
	return accepted, withheld
}
