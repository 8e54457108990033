package mover

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestTrouble_SaysWhyAPodDoesNotRun(t *testing.T) {
	train := func(s corev1.ContainerState) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: "train", State: s}}
	}
	waits := train(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}})
	failed := train(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "no data"}})
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		why    string
		fails  bool
	}{
		"it runs": {
			corev1.PodStatus{ContainerStatuses: train(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})}, "", false,
		},
		"a container waits": {
			corev1.PodStatus{ContainerStatuses: waits}, "container train waits: ImagePullBackOff no such image", false,
		},
		"a container has failed": {
			corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: failed}, "container train has failed with exit code 1: Error no data", true,
		},
		"kubelet has no GPU memory for it": {
			corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", Message: "Allocate failed", ContainerStatuses: waits},
			"its kubelet has ended it: UnexpectedAdmissionError Allocate failed", true,
		},
		"kubelet has evicted it": {
			corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory.", ContainerStatuses: failed},
			"its kubelet has ended it: Evicted The node was low on resource: memory.", true,
		},
		"it has ended well": {corev1.PodStatus{Phase: corev1.PodSucceeded}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			why, fails := trouble(&corev1.Pod{Status: tc.status})
			require.Equal(t, tc.why, why)
			require.Equal(t, tc.fails, fails)
		})
	}
}
