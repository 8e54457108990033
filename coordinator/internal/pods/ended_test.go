package pods_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
)

func TestRead_Ended(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	terminated := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for name, tc := range map[string]struct {
		statuses []corev1.ContainerStatus
		want     bool
	}{
		"no status yet":                     {nil, false},
		"a container that runs":             {[]corev1.ContainerStatus{{Name: "train", State: running}}, false},
		"a container that starts":           {[]corev1.ContainerStatus{{Name: "train", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}, false},
		"a container that has been renewed": {[]corev1.ContainerStatus{{Name: "train", State: running, LastTerminationState: terminated}}, false},
		"the container has ended":           {[]corev1.ContainerStatus{{Name: "train", State: terminated}}, true},
		"the container waits for a restart": {[]corev1.ContainerStatus{{Name: "train", State: waiting, LastTerminationState: terminated}}, true},
		"the trainer has ended, a sidecar runs": {[]corev1.ContainerStatus{
			{Name: "log", State: running}, {Name: "train", State: terminated},
		}, true},
		"a sidecar has ended, the trainer runs": {[]corev1.ContainerStatus{
			{Name: "log", State: terminated}, {Name: "train", State: running},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "500m", ""), container("log", "100m", ""))
			p.Status.ContainerStatuses = tc.statuses
			require.Equal(t, tc.want, pods.Read(p).Ended())
			require.Empty(t, pods.Read(p).Trainer().Failed)
		})
	}
}

func TestRead_Failed(t *testing.T) {
	for want, end := range map[string]corev1.ContainerStateTerminated{
		"":                          {Reason: "Completed"},
		"exit code 1":               {ExitCode: 1, Reason: "Error"},
		"exit code 2":               {ExitCode: 2},
		"exit code 137, OOMKilled":  {ExitCode: 137, Reason: "OOMKilled"},
		"exit code 128, StartError": {ExitCode: 128, Reason: "StartError"},
	} {
		t.Run(want, func(t *testing.T) {
			p := pod(container("train", "500m", ""))
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "train", State: corev1.ContainerState{Terminated: &end}}}
			require.Equal(t, want, pods.Read(p).Trainer().Failed)
		})
	}
}
