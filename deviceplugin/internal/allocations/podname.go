package allocations

import (
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
)

// podName is what kubelet knows a pod by. It tells no pod from a later one of the same name.
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

// byName finds the pods of kubelet's names: of two of one name, the one that has not ended.
func byName(pods []Pod) map[podName]*Pod {
	found := make(map[podName]*Pod, len(pods))
	for i, p := range pods {
		if previous, ok := found[p.name()]; !ok || previous.Finished {
			found[p.name()] = &pods[i]
		}
	}
	return found
}

// satisfiedContainers are the containers that hold units, wherever those are: they will not ask for them again.
func satisfiedContainers(devices []kubelet.ContainerDevices, pods map[podName]*Pod) map[slice.Key]struct{} {
	satisfied := make(map[slice.Key]struct{}, len(devices))
	for _, d := range devices {
		if pod, ok := pods[podName{d.Namespace, d.Pod}]; ok && !pod.Finished {
			satisfied[slice.Key{Pod: pod.Ref.UID, Container: d.Container}] = struct{}{}
		}
	}
	return satisfied
}
