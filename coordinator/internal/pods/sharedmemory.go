package pods

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	sharedMemoryPath = "/dev/shm"
	// runtimeSharedMemory is the size of /dev/shm that containerd and CRI-O give a pod by default.
	runtimeSharedMemory growth.MiB = 64
)

// sharedMemory returns the size of /dev/shm in a container, or 0 if the pod does not determine it.
func sharedMemory(p *corev1.Pod, container string) growth.MiB {
	name, mounted := sharedMemoryVolume(p, container)
	switch {
	case mounted:
		return memoryVolume(p, name)
	case p.Spec.HostIPC:
		return 0 // the node's own
	}
	return runtimeSharedMemory
}

// sharedMemoryVolume returns the name of the volume that a container mounts at /dev/shm.
func sharedMemoryVolume(p *corev1.Pod, container string) (name string, mounted bool) {
	for _, c := range p.Spec.Containers {
		if c.Name != container {
			continue
		}
		for _, m := range c.VolumeMounts {
			if path.Clean(m.MountPath) == sharedMemoryPath {
				return m.Name, true
			}
		}
	}
	return "", false
}

// memoryVolume returns the size of an emptyDir of medium Memory, and 0 for other volumes. Kubelet limits it to the pod's
// memory limit.
func memoryVolume(p *corev1.Pod, name string) growth.MiB {
	at := slices.IndexFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if at < 0 {
		return 0
	}
	dir := p.Spec.Volumes[at].EmptyDir
	if dir == nil || dir.Medium != corev1.StorageMediumMemory {
		return 0
	}
	size := mib(dir.SizeLimit)
	if limit := memoryLimit(p); limit > 0 && (size == 0 || limit < size) {
		return limit
	}
	return size
}

// memoryLimit returns the memory limit of the pod: its own, or the sum of its containers'. It is 0 without one.
func memoryLimit(p *corev1.Pod) growth.MiB {
	if p.Spec.Resources != nil {
		if limit := mib(p.Spec.Resources.Limits.Memory()); limit > 0 {
			return limit
		}
	}
	var sum growth.MiB
	for _, c := range p.Spec.Containers {
		limit := mib(c.Resources.Limits.Memory())
		if limit == 0 {
			return 0
		}
		sum += limit
	}
	return sum
}

func mib(q *resource.Quantity) growth.MiB {
	if q == nil {
		return 0
	}
	return growth.MiB(max(0, q.Value()) >> 20)
}
