package allocations_test

import (
	"testing"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestReconcile_InvalidAndImportedDevices(t *testing.T) {
	testReconcile(t, map[string]reconcileCase{
		"kubelet's ids are invalid": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "no-id")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
			},
			pending: 1,
		},
		"another plugin's pod on the GPU of its annotation": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
				Pods:       []pods.Pod{pod("p", numbered(1))},
				PodsSynced: true,
			},
			write: []bus.Allocation{imported("p", "X-_-0")},
		},
		"another plugin's pod on a GPU that does not exist": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
				Pods:       []pods.Pod{pod("p", numbered(2))},
				PodsSynced: true,
			},
			pending: 1,
		},
		"another plugin's pod is recorded already": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
				Pods:       []pods.Pod{pod("p", numbered(1))},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": imported("p", "X-_-0")},
			},
		},
		"another plugin's pod has ended": {
			snapshot: allocations.Snapshot{
				Pods: []pods.Pod{pod("p", numbered(1), finished)}, PodsSynced: true,
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": imported("p", "X-_-0")},
			},
			del: []growth.PodUID{"uid-p"},
		},
	})
}
