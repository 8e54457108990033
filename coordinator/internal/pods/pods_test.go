package pods_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/daemon/jobkind"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

func container(name, request, limit string) corev1.Container {
	c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}}
	if request != "" {
		c.Resources.Requests[corev1.ResourceCPU] = resource.MustParse(request)
	}
	if limit != "" {
		c.Resources.Limits[corev1.ResourceCPU] = resource.MustParse(limit)
	}
	return c
}

func pod(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "u", Annotations: map[string]string{gpushare.MemoryAnnotation: "1"}},
		Spec:       corev1.PodSpec{Containers: containers},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable},
	}
}

func TestRead_Program(t *testing.T) {
	p := pod(container("train", "500m", ""))
	p.Spec.Containers[0].Args = []string{"--seed=7"}
	read := pods.Read(p)
	id, _, numbers := jobkind.Program(p)
	require.Equal(t, id, read.Program)
	require.Equal(t, numbers, read.Numbers)
}

func TestRead_Fixed(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*corev1.Pod)
		want  string
	}{
		"a burstable pod":       {func(*corev1.Pod) {}, ""},
		"a guaranteed pod":      {func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSGuaranteed }, "Guaranteed"},
		"a pod without request": {func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{container("train", "", "")} }, "no CPU request"},
		"a pod that would restart": {func(p *corev1.Pod) {
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: corev1.RestartContainer}}
		}, "restarted"},
		"a pod with a CPU request for the whole pod": {func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: cpus("2")}
		}, "pod as a whole"},
		"a pod with a CPU limit for the whole pod": {func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: cpus("2")}
		}, "pod as a whole"},
		"only memory is set for the whole pod": {func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
		}, ""},
		"a static pod": {func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "x" }, "static pod"},
		"a guaranteed pod with whole cores": {func(p *corev1.Pod) {
			p.Status.QOSClass = corev1.PodQOSGuaranteed
			p.Spec.Containers = []corev1.Container{container("train", "2", "2")}
		}, "Guaranteed, with 2 whole cores, which kubelet's static CPU manager gives to it alone"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "500m", ""))
			tc.spoil(p)
			got := pods.Read(p).Fixed
			if tc.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, tc.want)
			}
		})
	}
}

func TestRead_RunningAndResizeStatus(t *testing.T) {
	p := pod(container("train", "500m", ""))
	require.True(t, pods.Read(p).Running)
	p.Generation = 3
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred, Message: "no room"}}
	require.Equal(t, node.ResizeStatus{Reason: "Deferred", Message: "no room"}, pods.Read(p).ResizeStatus)
	require.False(t, pods.Read(p).ResizeStatus.Infeasible(), "kubelet may still apply it")
	p.Status.Conditions[0].Reason, p.Status.Conditions[0].ObservedGeneration = corev1.PodReasonInfeasible, 3
	require.True(t, pods.Read(p).ResizeStatus.Infeasible())
	p.Generation = 4
	require.Zero(t, pods.Read(p).ResizeStatus, "the condition is of the previous resize")
	p.DeletionTimestamp = &metav1.Time{}
	require.False(t, pods.Read(p).Running, "a pod that is being deleted")
}

func TestRead_Allocated(t *testing.T) {
	cpu := func(request string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)}
	}
	effect := func(request string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Requests: cpu(request)}
	}
	for name, tc := range map[string]struct {
		status corev1.ContainerStatus
		want   growth.MilliCPU
	}{
		"no status yet":                   {corev1.ContainerStatus{Name: "train"}, 750},
		"the allocated resources":         {corev1.ContainerStatus{Name: "train", AllocatedResources: cpu("500m"), Resources: effect("499m")}, 500},
		"else the resources in effect":    {corev1.ContainerStatus{Name: "train", Resources: effect("499m")}, 499},
		"the status of another container": {corev1.ContainerStatus{Name: "other", AllocatedResources: cpu("500m")}, 750},
		"no CPU allocated, the spec":      {corev1.ContainerStatus{Name: "train", AllocatedResources: corev1.ResourceList{}}, 750},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "750m", ""), container("none", "", ""))
			p.Status.ContainerStatuses = []corev1.ContainerStatus{tc.status}
			require.Equal(t, node.Requests{"train": tc.want}, pods.Read(p).Allocated())
			require.Equal(t, node.Requests{"train": 750}, pods.Read(p).Requests())
		})
	}
}

func TestRead_Started(t *testing.T) {
	at := func(second int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC)) }
	runs := func(second int) corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(second)}}
	}
	ended := func(second int) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(second)}}
	}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   int // the second, -1: never
	}{
		"nothing is known yet":            {corev1.PodStatus{}, -1},
		"its container waits":             {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}}, -1},
		"it was never started":            {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}}, -1},
		"its container runs":              {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: runs(7)}}}, 7},
		"it has restarted":                {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: runs(9), LastTerminationState: ended(5)}}}, 5},
		"it has ended":                    {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: ended(6)}}}, 6},
		"an init container started first": {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{State: ended(3)}}, ContainerStatuses: []corev1.ContainerStatus{{State: runs(8)}}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "500m", ""))
			p.Status = tc.status
			began := pods.Read(p).Started
			if tc.want < 0 {
				require.True(t, began.IsZero())
				return
			}
			require.Equal(t, at(tc.want).Time, began)
		})
	}
}
