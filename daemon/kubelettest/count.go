package kubelettest

import (
	"context"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// countSuffix ends the names of resources that only count devices, and that no pod of a test requests.
const countSuffix = "/gpu-count"

// followCount follows the number of devices of such a resource until the plugin's stream ends.
func (k *Kubelet) followCount(e *endpoint, resource string) {
	defer e.close()
	stream, err := e.ListAndWatch(context.Background(), &pluginapi.Empty{})
	for err == nil {
		var list *pluginapi.ListAndWatchResponse
		list, err = stream.Recv()
		k.setCount(resource, len(list.GetDevices())) // 0 once the stream has ended
	}
}

func (k *Kubelet) setCount(resource string, devices int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.counts == nil {
		k.counts = map[string]int{}
	}
	k.counts[resource] = devices
}

// Count returns the number of devices of a resource that only counts them.
func (k *Kubelet) Count(resource string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.counts[resource]
}
