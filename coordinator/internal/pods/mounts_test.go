package pods_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
)

func TestRead_VolumesAreThoseOfTheContainerThatTrains(t *testing.T) {
	mounts := func(folders ...string) (all []corev1.VolumeMount) {
		for _, folder := range folders {
			all = append(all, corev1.VolumeMount{Name: "v", MountPath: folder})
		}
		return all
	}
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "train", VolumeMounts: mounts("/checkpoints", "/data")},
		{Name: "sidecar", VolumeMounts: mounts("/logs")},
	}}}
	require.Equal(t, []string{"/checkpoints", "/data"}, pods.Read(p).Volumes)
	p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "sidecar"}
	require.Equal(t, []string{"/logs"}, pods.Read(p).Volumes)
}

func TestRead_ProbedByKubelet(t *testing.T) {
	sidecar := corev1.Container{Name: "sidecar"}
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "train", ReadinessProbe: &corev1.Probe{}}}}}
	require.False(t, pods.Read(p).Probed, "kubelet does not restart a container that is not ready")
	sidecar.LivenessProbe = &corev1.Probe{}
	p.Spec.InitContainers = []corev1.Container{sidecar}
	require.True(t, pods.Read(p).Probed)
}
