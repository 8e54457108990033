package pods_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
)

// memoryVolume is an emptyDir of medium Memory with the given size limit; "" for none.
func memoryVolume(limit string) corev1.VolumeSource {
	dir := &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}
	if limit != "" {
		size := resource.MustParse(limit)
		dir.SizeLimit = &size
	}
	return corev1.VolumeSource{EmptyDir: dir}
}

func TestRead_SharedMemory(t *testing.T) {
	mount := func(path string, source corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}}
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: path}}
		}
	}
	limited := func(limit string, change func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			change(p)
			p.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse(limit)
		}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   growth.MiB
	}{
		"the runtime's default":              {func(*corev1.Pod) {}, 64},
		"the node's own":                     {func(p *corev1.Pod) { p.Spec.HostIPC = true }, 0},
		"a volume in memory":                 {mount("/dev/shm", memoryVolume("1536Mi")), 1536},
		"a path with a slash at its end":     {mount("/dev/shm/", memoryVolume("2Gi")), 2048},
		"a volume without a size":            {mount("/dev/shm", memoryVolume("")), 0},
		"a volume without a size, limited":   {limited("3Gi", mount("/dev/shm", memoryVolume(""))), 3072},
		"a volume larger than the memory":    {limited("3Gi", mount("/dev/shm", memoryVolume("8Gi"))), 3072},
		"a volume smaller than the memory":   {limited("3Gi", mount("/dev/shm", memoryVolume("1Gi"))), 1024},
		"a volume in memory elsewhere":       {mount("/cache", memoryVolume("8Gi")), 64},
		"a volume on disk":                   {mount("/dev/shm", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), 0},
		"a folder of the node":               {mount("/dev/shm", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}), 0},
		"a mount without its volume":         {func(p *corev1.Pod) { mount("/dev/shm", memoryVolume("1Gi"))(p); p.Spec.Volumes = nil }, 0},
		"a volume of another container":      {func(p *corev1.Pod) { mount("/dev/shm", memoryVolume("1Gi"))(p); swap(p) }, 64},
		"a limit for the pod as a whole":     {podLimit("2Gi", mount("/dev/shm", memoryVolume(""))), 2048},
		"one of two containers has no limit": {limited("3Gi", alongside(mount("/dev/shm", memoryVolume("8Gi")))), 8192},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "500m", ""))
			tc.change(p)
			require.Equal(t, tc.want, pods.Read(p).SharedMemory)
		})
	}
}

// swap puts another container first, which becomes the one that trains.
func swap(p *corev1.Pod) {
	p.Spec.Containers = append([]corev1.Container{container("first", "", "")}, p.Spec.Containers...)
}

// alongside adds a container without limits at the end.
func alongside(change func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		change(p)
		p.Spec.Containers = append(p.Spec.Containers, container("log", "", ""))
	}
}

func podLimit(limit string, change func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		change(p)
		p.Spec.Resources = &corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)},
		}
	}
}
