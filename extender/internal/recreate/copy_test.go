package recreate_test

import (
	"testing"

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
				gpushare.MemoryAnnotation: "8Gi", gpushare.GPUAnnotation: "GPU-1", gpushare.CategoryAnnotation: "Progressing",
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

func TestRejected(t *testing.T) {
	yes := true
	terminated := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown"}}}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"rejected at admission":               {func(*corev1.Pod) {}, true},
		"rejected for lack of units":          {func(p *corev1.Pod) { p.Status.Reason = "OutOfgpushare/gpu-mem" }, true},
		"rejected for lack of CPU":            {func(p *corev1.Pod) { p.Status.Reason = "OutOfcpu" }, false},
		"failed in a container":               {func(p *corev1.Pod) { p.Status.Reason = "" }, false},
		"pending":                             {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, false},
		"terminating":                         {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, false},
		"requests no share":                   {func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = nil }, false},
		"init container requests a share":     {func(p *corev1.Pod) { p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, nil }, true},
		"controller":                          {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Controller: &yes}} }, false},
		"owner that is not a controller":      {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Name: "experiment"}} }, true},
		"static pod":                          {func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "x" }, false},
		"sixth rejection":                     {func(p *corev1.Pod) { p.Annotations[gpushare.RefusalsAnnotation] = "5" }, true},
		"seventh rejection":                   {func(p *corev1.Pod) { p.Annotations[gpushare.RefusalsAnnotation] = "6" }, false},
		"container was created":               {func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{terminated} }, true},
		"at most once, no container":          {func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, true},
		"at most once, container waits":       {atMostOnce(corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}), true},
		"at most once, container was created": {atMostOnce(terminated), false},
		"at most once, container ran before":  {atMostOnce(corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}, LastTerminationState: terminated.State}), false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := rejected()
			tc.change(pod)
			require.Equal(t, tc.want, recreate.Rejected(pod, gpushare.Resource))
		})
	}
}

func atMostOnce(status corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.RestartPolicy, p.Status.ContainerStatuses = corev1.RestartPolicyNever, []corev1.ContainerStatus{status}
	}
}

func TestCopy_RemovesWhatTheClusterAdded(t *testing.T) {
	pod := rejected()
	priority := int32(7)
	pod.Spec.PriorityClassName, pod.Spec.Priority = "high", &priority
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
