package allocations

import (
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
)

// podName is the name by which kubelet knows a pod. A later pod may have the same name.
type podName struct{ namespace, pod string }

// String implements fmt.Stringer.
func (n podName) String() string { return n.namespace + "/" + n.pod }

func nameOf(p pods.Pod) podName { return podName{p.Ref.Namespace, p.Ref.Name} }

func byPod(devices []kubelet.ContainerDevices) map[podName][]kubelet.ContainerDevices {
	grouped := make(map[podName][]kubelet.ContainerDevices, len(devices))
	for _, d := range devices {
		name := podName{d.Namespace, d.Pod}
		grouped[name] = append(grouped[name], d)
	}
	return grouped
}

// byName indexes pods by name. Of two pods with the same name, the one that has not ended wins.
func byName(podList []pods.Pod) map[podName]*pods.Pod {
	found := make(map[podName]*pods.Pod, len(podList))
	for i, p := range podList {
		if previous, ok := found[nameOf(p)]; !ok || previous.Finished {
			found[nameOf(p)] = &podList[i]
		}
	}
	return found
}

// satisfiedContainers returns the containers that hold units on any GPU; kubelet will not allocate for them again.
func satisfiedContainers(devices []kubelet.ContainerDevices, podsByName map[podName]*pods.Pod) map[slice.Key]struct{} {
	satisfied := make(map[slice.Key]struct{}, len(devices))
	for _, d := range devices {
		if pod, ok := podsByName[podName{d.Namespace, d.Pod}]; ok && !pod.Finished {
			satisfied[slice.Key{Pod: pod.Ref.UID, Container: d.Container}] = struct{}{}
		}
	}
	return satisfied
}
