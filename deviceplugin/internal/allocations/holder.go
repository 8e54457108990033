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

func byPod(holdings []kubelet.Holding) map[podName][]kubelet.Holding {
	pods := make(map[podName][]kubelet.Holding, len(holdings))
	for _, h := range holdings {
		name := podName{h.Namespace, h.Pod}
		pods[name] = append(pods[name], h)
	}
	return pods
}

// byName finds the pods of kubelet's names: of two of one name, the one that has not ended.
func byName(pods []Pod) map[podName]*Pod {
	found := make(map[podName]*Pod, len(pods))
	for i, p := range pods {
		if before, ok := found[p.name()]; !ok || before.Finished {
			found[p.name()] = &pods[i]
		}
	}
	return found
}

// settled are the containers that hold units, wherever those are: they will not ask for them again.
func settled(holdings []kubelet.Holding, pods map[podName]*Pod) map[slice.Key]struct{} {
	settled := make(map[slice.Key]struct{}, len(holdings))
	for _, h := range holdings {
		if pod, ok := pods[podName{h.Namespace, h.Pod}]; ok && !pod.Finished {
			settled[slice.Key{Pod: pod.Ref.UID, Container: h.Container}] = struct{}{}
		}
	}
	return settled
}
