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

// refused is a bare pod that kubelet did not take in.
func refused() *corev1.Pod {
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

func TestWhatIsSubmittedAgain(t *testing.T) {
	yes := true
	made := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown"}}}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		again  bool
	}{
		"refused at admission":                 {func(*corev1.Pod) {}, true},
		"refused for want of units":            {func(p *corev1.Pod) { p.Status.Reason = "OutOfgpushare/gpu-mem" }, true},
		"refused for want of processors":       {func(p *corev1.Pod) { p.Status.Reason = "OutOfcpu" }, false},
		"failed by itself":                     {func(p *corev1.Pod) { p.Status.Reason = "" }, false},
		"not over":                             {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, false},
		"about to go":                          {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, false},
		"asks for no share":                    {func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = nil }, false},
		"an init container asks":               {func(p *corev1.Pod) { p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, nil }, true},
		"a controller makes another":           {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Controller: &yes}} }, false},
		"an owner that is no controller":       {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Name: "experiment"}} }, true},
		"kubelet's own":                        {func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "x" }, false},
		"its sixth time":                       {func(p *corev1.Pod) { p.Annotations[gpushare.RefusalsAnnotation] = "5" }, true},
		"too often":                            {func(p *corev1.Pod) { p.Annotations[gpushare.RefusalsAnnotation] = "6" }, false},
		"a container was made of it":           {func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{made} }, true},
		"at most once, and none was made":      {func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, true},
		"at most once, and one waits":          {atMostOnce(corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}), true},
		"at most once, and one was made":       {atMostOnce(made), false},
		"at most once, and one had run before": {atMostOnce(corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}, LastTerminationState: made.State}), false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := refused()
			tc.change(pod)
			require.Equal(t, tc.again, recreate.Refused(pod, gpushare.Resource))
		})
	}
}

func atMostOnce(status corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.RestartPolicy, p.Status.ContainerStatuses = corev1.RestartPolicyNever, []corev1.ContainerStatus{status}
	}
}

func TestThePodIsAsItsUserMadeIt(t *testing.T) {
	pod := refused()
	priority := int32(7)
	pod.Spec.PriorityClassName, pod.Spec.Priority = "high", &priority
	before := pod.DeepCopy()
	again := recreate.Again(pod)
	require.Equal(t, before, pod, "it is left as it was")
	require.Equal(t, metav1.ObjectMeta{
		Namespace: "team", Name: "job", Labels: map[string]string{"app": "vae"},
		Annotations: map[string]string{gpushare.MemoryAnnotation: "8Gi", "note": "mine", gpushare.RefusalsAnnotation: "1"},
	}, again.ObjectMeta)
	require.Empty(t, again.Spec.NodeName)
	require.Nil(t, again.Spec.Priority, "follows from the class")
	require.Equal(t, pod.Spec.Containers, again.Spec.Containers)
	require.Equal(t, corev1.PodStatus{}, again.Status)
	require.Equal(t, "2", recreate.Again(again).Annotations[gpushare.RefusalsAnnotation])
	pod.Annotations = nil
	require.Equal(t, map[string]string{gpushare.RefusalsAnnotation: "1"}, recreate.Again(pod).Annotations, "it asked by its limits alone")
}
