package clusterrun

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEndedIn(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) metav1.Time { return metav1.NewTime(began.Add(time.Duration(seconds) * time.Second)) }
	j := batchv1.Job{Status: batchv1.JobStatus{CompletionTime: new(at(64))}}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(0)},
		Spec:       corev1.PodSpec{NodeName: "node-2"},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(3), FinishedAt: at(60)}},
		}}},
	}
	found, ok := endedIn(j, pod)
	require.True(t, ok)
	require.Equal(t, Pod{Node: "node-2", Starting: 3, Ending: 4}, found)
	for name, change := range map[string]func(*corev1.Pod){
		"evicted by a move":                     func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"of which the containers are not known": func(p *corev1.Pod) { p.Status.ContainerStatuses = nil },
	} {
		t.Run(name, func(t *testing.T) {
			other := *pod.DeepCopy()
			change(&other)
			_, ok := endedIn(j, other)
			require.False(t, ok)
		})
	}
}
