package recreate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// begun is when kubelet first saw the pods of the tests.
var begun = time.Date(2026, 3, 14, 9, 30, 0, 0, time.UTC)

// rejectedCase changes a rejected pod, and says whether it may be recreated.
type rejectedCase struct {
	change func(*corev1.Pod)
	want   bool
}

func testRejected(t *testing.T, cases map[string]rejectedCase) {
	t.Helper()
	for name, tc := range cases {
		for _, policy := range []corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure} {
			t.Run(name+"/"+string(policy), func(t *testing.T) {
				pod := rejected()
				pod.Spec.RestartPolicy = policy
				pod.Status.StartTime = &metav1.Time{Time: begun}
				tc.change(pod)
				require.Equal(t, tc.want, recreate.Rejected(pod, gpushare.Resource))
			})
		}
	}
}

func reason(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Reason = reason }
}

func TestRejected_Reasons(t *testing.T) {
	testRejected(t, map[string]rejectedCase{
		"at admission":                 {func(*corev1.Pod) {}, true},
		"lack of units":                {reason("OutOf" + gpushare.Resource), true},
		"lack of CPU":                  {reason("OutOfcpu"), true},
		"lack of memory":               {reason("OutOfmemory"), true},
		"lack of disk":                 {reason("OutOfephemeral-storage"), true},
		"too many pods":                {reason("OutOfpods"), true},
		"not aligned":                  {reason("TopologyAffinityError"), true},
		"lack of a resource of others": {reason("OutOfexample.com/fpga"), false},
		"the node does not match":      {reason("NodeAffinity"), false},
		"evicted":                      {reason("Evicted"), false},
		"past its deadline":            {reason("DeadlineExceeded"), false},
		"failed in a container":        {reason(""), false},
	})
}

func TestRejected_Pods(t *testing.T) {
	yes := true
	testRejected(t, map[string]rejectedCase{
		"pending":           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, false},
		"terminating":       {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, false},
		"requests no share": {func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = nil }, false},
		"init container requests a share": {
			func(p *corev1.Pod) { p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, nil }, true,
		},
		"controller": {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Controller: &yes}} }, false},
		"owner that is not a controller": {
			func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Name: "experiment"}} }, true,
		},
		"static pod":        {func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "x" }, false},
		"sixth rejection":   {func(p *corev1.Pod) { p.Annotations[gpushare.RefusalsAnnotation] = "5" }, true},
		"seventh rejection": {func(p *corev1.Pod) { p.Annotations[gpushare.RefusalsAnnotation] = "6" }, false},
	})
}

func container(status corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{status} }
}

func TestRejected_ContainersThatRan(t *testing.T) {
	yes := true
	terminated := func(s corev1.ContainerStateTerminated) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &s}
	}
	lost := terminated(corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", ExitCode: 137})
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	done := terminated(corev1.ContainerStateTerminated{
		Reason: "Completed", StartedAt: metav1.NewTime(begun), FinishedAt: metav1.NewTime(begun.Add(time.Hour)),
	})
	testRejected(t, map[string]rejectedCase{
		"no container":              {func(*corev1.Pod) {}, true},
		"waits":                     {container(corev1.ContainerStatus{State: waiting}), true},
		"made up by kubelet":        {container(corev1.ContainerStatus{State: lost}), true},
		"completed":                 {container(corev1.ContainerStatus{State: done}), false},
		"failed without times":      {container(corev1.ContainerStatus{State: terminated(corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1})}), false},
		"runs":                      {container(corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}), false},
		"ran before":                {container(corev1.ContainerStatus{State: waiting, LastTerminationState: lost}), false},
		"lost, and used to run":     {container(corev1.ContainerStatus{State: lost, RestartCount: 1}), false},
		"lost after it started":     {container(corev1.ContainerStatus{State: terminated(corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", StartedAt: metav1.NewTime(begun)})}), false},
		"has an id":                 {container(corev1.ContainerStatus{State: waiting, ContainerID: "containerd://4f"}), false},
		"started":                   {container(corev1.ContainerStatus{State: waiting, Started: &yes}), false},
		"an init container ran":     {func(p *corev1.Pod) { p.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: done}} }, false},
		"an init container waits":   {func(p *corev1.Pod) { p.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: waiting}} }, true},
		"an init container made up": {func(p *corev1.Pod) { p.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: lost}} }, true},
	})
}

// lostContainer is what kubelet writes of a container of which it finds no trace.
func lostContainer(p *corev1.Pod) {
	lost := corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", ExitCode: 137}
	container(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &lost}})(p)
}

func condition(kind corev1.PodConditionType) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(begun),
		})
	}
}

// writtenAfter records when kubelet last wrote the status.
func writtenAfter(delay time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "kubelet", Subresource: "status", Time: &metav1.Time{Time: begun.Add(delay)},
		})
	}
}

// The status of a pod that a restarted kubelet rejects has no containers any more.
func TestRejected_OtherEvidence(t *testing.T) {
	testRejected(t, map[string]rejectedCase{
		"scheduled": {condition(corev1.PodScheduled), true},
		"initialized, as all pods without init containers are": {func(p *corev1.Pod) {
			condition(corev1.PodInitialized)(p)
			lostContainer(p)
		}, true},
		"initialized by its init containers": {func(p *corev1.Pod) {
			condition(corev1.PodInitialized)(p)
			p.Spec.InitContainers = []corev1.Container{{Name: "init"}}
		}, false},
		"ready":                     {condition(corev1.PodReady), false},
		"had a sandbox":             {condition(corev1.PodReadyToStartContainers), false},
		"observed by a coordinator": {func(p *corev1.Pod) { p.Annotations[gpushare.CategoryAnnotation] = "Watching" }, false},
		"rejected at once":          {writtenAfter(time.Second), true},
		"rejected at once, and the clocks differ": {writtenAfter(-5 * time.Second), true},
		"rejected after an hour":                  {writtenAfter(time.Hour), false},
		"rejected after an hour, without a start time": {func(p *corev1.Pod) {
			writtenAfter(time.Hour)(p)
			p.Status.StartTime = nil
		}, true},
		"rejected at once, and kubelet restarted an hour later": {func(p *corev1.Pod) {
			writtenAfter(time.Hour)(p)
			lostContainer(p)
		}, true},
		"others wrote the status later": {func(p *corev1.Pod) {
			writtenAfter(time.Second)(p)
			p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: "queue", Subresource: "status", Time: &metav1.Time{Time: begun.Add(time.Hour)},
			})
		}, true},
	})
}
