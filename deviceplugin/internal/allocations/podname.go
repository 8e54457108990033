package allocations

import (
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
)

// podName is the name by which kubelet knows a pod. A later pod may have the same name.
type podName struct{ namespace, pod string }

// String implements fmt.Stringer.
func (n podName) String() string { return n.namespace + "/" + n.pod }

func (p Pod) name() podName { return podName{p.Ref.Namespace, p.Ref.Name} }

func byPod(devices []kubelet.ContainerDevices) map[podName][]kubelet.ContainerDevices {
	pods := make(map[podName][]kubelet.ContainerDevices, len(devices))
	for _, d := range devices {
		name := podName{d.Namespace, d.Pod}
		pods[name] = append(pods[name], d)
	}
	return pods
}

// byName indexes pods by name. Of two pods with the same name, the one that has not ended wins.
func byName(pods []Pod) map[podName]*Pod {
	found := make(map[podName]*Pod, len(pods))
	for i, p := range pods {
		if previous, ok := found[p.name()]; !ok || previous.Finished {
			found[p.name()] = &pods[i]
		}
	}
	return found
}

// satisfiedContainers returns the containers that hold units on any GPU; kubelet will not allocate for them again.
func satisfiedContainers(devices []kubelet.ContainerDevices, pods map[podName]*Pod) map[slice.Key]struct{} {
	satisfied := make(map[slice.Key]struct{}, len(devices))
	for _, d := range devices {
		if pod, ok := pods[podName{d.Namespace, d.Pod}]; ok && !pod.Finished {
			satisfied[slice.Key{Pod: pod.Ref.UID, Container: d.Container}] = struct{}{}
		}
	}
	return satisfied
}
