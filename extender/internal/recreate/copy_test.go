package recreate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// rejected returns a bare pod that kubelet rejected.
func rejected() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "job", UID: "old", ResourceVersion: "7", Labels: map[string]string{"app": "vae"},
			Annotations: map[string]string{
				gpushare.MemoryAnnotation: "8Gi", gpushare.GPUAnnotation: "GPU-1",
				"ALIYUN_COM_GPU_MEM_IDX": "0", "note": "mine",
			},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-1", SchedulerName: gpushare.SchedulerName, RestartPolicy: corev1.RestartPolicyOnFailure,
			Containers: []corev1.Container{{Name: "train", Image: "torch", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{gpushare.Resource: resource.MustParse("8")},
			}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", Message: "no healthy devices present"},
	}
}

func TestCopy_RemovesWhatTheClusterAdded(t *testing.T) {
	pod := rejected()
	priority := int32(7)
	pod.Spec.PriorityClassName, pod.Spec.Priority = "high", &priority
	for _, name := range gpushare.WrittenAnnotations() {
		pod.Annotations[name] = "x"
	}
	before := pod.DeepCopy()
	copied := recreate.Copy(pod)
	require.Equal(t, before, pod, "the original is unchanged")
	require.Equal(t, metav1.ObjectMeta{
		Namespace: "team", Name: "job", Labels: map[string]string{"app": "vae"},
		Annotations: map[string]string{gpushare.MemoryAnnotation: "8Gi", "note": "mine", gpushare.RefusalsAnnotation: "1"},
	}, copied.ObjectMeta)
	require.Empty(t, copied.Spec.NodeName)
	require.Nil(t, copied.Spec.Priority, "set by admission from the class")
	require.Equal(t, pod.Spec.Containers, copied.Spec.Containers)
	require.Equal(t, corev1.PodStatus{}, copied.Status)
	require.Equal(t, "2", recreate.Copy(copied).Annotations[gpushare.RefusalsAnnotation])
	pod.Annotations = nil
	require.Equal(t, map[string]string{gpushare.RefusalsAnnotation: "1"}, recreate.Copy(pod).Annotations, "a pod with limits only")
}

func TestCopy_KeepsNodeOfUser(t *testing.T) {
	created := func(fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "kubectl-create", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	status := metav1.ManagedFieldsEntry{
		Manager: "kubelet", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:phase":{}}}`),
	}
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"the extender bound the pod": {func(p *corev1.Pod) { p.Annotations[gpushare.GPUAnnotation] = "GPU-1" }, ""},
		"the user set the node": {func(p *corev1.Pod) {
			p.ManagedFields = []metav1.ManagedFieldsEntry{status, created(`{"f:spec":{"f:nodeName":{},"f:containers":{}}}`)}
		}, "node-1"},
		"another scheduler bound the pod": {func(p *corev1.Pod) {
			p.ManagedFields = []metav1.ManagedFieldsEntry{status, created(`{"f:spec":{"f:containers":{}}}`)}
		}, ""},
		"invalid fields": {func(p *corev1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{created(`{"f:spec":7}`)} }, ""},
		"fields are unknown, the pod was scheduled": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{scheduled}
		}, ""},
		"fields are unknown, nothing scheduled the pod": {func(*corev1.Pod) {}, "node-1"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := rejected()
			delete(pod.Annotations, gpushare.GPUAnnotation)
			tc.change(pod)
			require.Equal(t, tc.want, recreate.Copy(pod).Spec.NodeName)
		})
	}
}

// A deadline counts from the creation of the first pod.
func TestCopy_KeepsTheDeadline(t *testing.T) {
	created := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	for before, after := range map[string]string{
		"6h":                   "2026-05-01T18:00:00Z",
		"2026-05-02T00:00:00Z": "2026-05-02T00:00:00Z",
		"soon":                 "soon",
	} {
		pod := rejected()
		pod.CreationTimestamp = created
		pod.Annotations[gpushare.DeadlineAnnotation] = before
		copied := recreate.Copy(pod)
		require.Equal(t, after, copied.Annotations[gpushare.DeadlineAnnotation])
		copied.CreationTimestamp = metav1.NewTime(created.Add(time.Hour))
		require.Equal(t, after, recreate.Copy(copied).Annotations[gpushare.DeadlineAnnotation])
	}
}
