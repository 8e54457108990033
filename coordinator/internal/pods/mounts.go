package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// volumes returns the folders at which a container mounts volumes.
func volumes(p *corev1.Pod, container string) (folders []string) {
	for _, c := range p.Spec.Containers {
		if c.Name != container {
			continue
		}
		for _, m := range c.VolumeMounts {
			folders = append(folders, m.MountPath)
		}
	}
	return folders
}

// probed reports whether kubelet restarts a container of the pod that does not answer.
func probed(p *corev1.Pod) bool {
	restarts := func(c corev1.Container) bool { return c.LivenessProbe != nil }
	return slices.ContainsFunc(p.Spec.Containers, restarts) || slices.ContainsFunc(p.Spec.InitContainers, restarts)
}
