package recreate

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

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
	keepDeadline(copied, pod)
	restoreRequests(copied, pod)
	copied.Annotations[gpushare.RefusalsAnnotation] = strconv.Itoa(rejections(pod) + 1)
	if !chosenByUser(pod) {
		copied.Spec.NodeName = ""
	}
	copied.Spec.EphemeralContainers = nil
	if copied.Spec.PriorityClassName != "" {
		copied.Spec.Priority, copied.Spec.PreemptionPolicy = nil, nil // set by admission from the class
	}
	return copied
}

// keepDeadline replaces a deadline that counts from the creation of the rejected pod by its time.
func keepDeadline(copied, pod *corev1.Pod) {
	spec, err := request.Spec(pod)
	if err == nil && spec.Deadline.After > 0 && !pod.CreationTimestamp.IsZero() {
		copied.Annotations[gpushare.DeadlineAnnotation] = spec.Deadline.Time(pod.CreationTimestamp.Time).UTC().Format(time.RFC3339)
	}
}

// written reports whether Trellis writes an annotation. Admission refuses a new pod that has one. The copy of a pod that continues a job after a
// move therefore finds the checkpoint itself.
func written(name string) bool {
	return slices.Contains(gpushare.WrittenAnnotations(), name) || strings.HasPrefix(name, "ALIYUN_COM_GPU_MEM_")
}

// chosenByUser reports whether the creator of the pod has set its node, and no scheduler. The API server records the
// fields that a client sets, and none for a Binding.
func chosenByUser(pod *corev1.Pod) bool {
	if pod.Annotations[gpushare.GPUAnnotation] != "" {
		return false // written by the extender's Binding
	}
	if len(pod.ManagedFields) > 0 {
		return slices.ContainsFunc(pod.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
			return f.Subresource == "" && f.FieldsV1 != nil && setsNodeName(f.FieldsV1.GetRawBytes())
		})
	}
	return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue
	})
}

// setsNodeName reports whether a set of fields contains spec.nodeName.
func setsNodeName(fields []byte) bool {
	var set struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if json.Unmarshal(fields, &set) != nil {
		return false
	}
	_, ok := set.Spec["f:nodeName"]
	return ok
}
