package pods

import (
	corev1 "k8s.io/api/core/v1"
)

// Pinned is a running container that may have cores of its own.
type Pinned struct {
	// ID is the runtime's ID of the container.
	ID    string
	Cores int
}

// Exclusive returns the number of cores that kubelet's static CPU manager gives to a pod alone: those of containers with
// a whole number of cores, in a pod of QoS class Guaranteed.
func Exclusive(p *corev1.Pod) (cores int) {
	for _, c := range pinned(p) {
		cores += c.Cores
	}
	return cores
}

// pinned lists the containers of a pod that run, or will run, on cores of their own under the static CPU manager. Init
// containers do not count: their cores are reused by the app containers, except those of sidecars.
func pinned(p *corev1.Pod) []Pinned {
	if p.Status.QOSClass != corev1.PodQOSGuaranteed || hasPodLevel(p) {
		return nil
	}
	var all []Pinned
	add := func(c corev1.Container, statuses []corev1.ContainerStatus) {
		cpu := c.Resources.Requests.Cpu().MilliValue()
		if cpu >= 1000 && cpu%1000 == 0 {
			all = append(all, Pinned{ID: running(statuses, c.Name), Cores: int(cpu / 1000)})
		}
	}
	for _, c := range p.Spec.InitContainers {
		if sidecar(c) {
			add(c, p.Status.InitContainerStatuses)
		}
	}
	for _, c := range p.Spec.Containers {
		add(c, p.Status.ContainerStatuses)
	}
	return all
}
