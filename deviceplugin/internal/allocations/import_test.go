package allocations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestReconcile_TracksImportedPods(t *testing.T) {
	old := imported("p", "X-_-0", "X-_-1")
	ours := recorded("p", "A/0")
	known := map[growth.PodUID]bus.Allocation{"uid-p": old}
	listed := []kubelet.ContainerDevices{holds("p", "X-_-0", "X-_-1")}
	for name, tc := range map[string]struct {
		snapshot allocations.Snapshot
		want     map[growth.PodUID]bus.Allocation
	}{
		"kubelet lists the pod": {
			snapshot: allocations.Snapshot{
				Devices:    listed,
				Pods:       []pods.Pod{pod("p", numbered(1))},
				PodsSynced: true,
			},
			want: known,
		},
		"the only GPU needs no index": {
			snapshot: allocations.Snapshot{
				Devices:    listed,
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
				GPUs:       []growth.GPU{"A"},
			},
			want: known,
		},
		"one of two GPUs needs an index": {snapshot: allocations.Snapshot{
			Devices:    listed,
			Pods:       []pods.Pod{pod("p")},
			PodsSynced: true,
		}},
		"the bus knows the pod when kubelet lists none after a restart": {
			snapshot: allocations.Snapshot{
				Pods:       []pods.Pod{pod("p", numbered(1))},
				PodsSynced: true,
				Recorded:   known,
			},
			want: known,
		},
		"memory knows the pod when the bus is unavailable": {
			snapshot: allocations.Snapshot{Imported: known},
			want:     known,
		},
		"the pod is gone": {snapshot: allocations.Snapshot{PodsSynced: true, Imported: known, Recorded: known}},
		"the pod has ended": {snapshot: allocations.Snapshot{
			Pods:       []pods.Pod{pod("p", finished)},
			PodsSynced: true,
			Imported:   known,
		}},
		"a pod of this plugin is not imported": {snapshot: allocations.Snapshot{
			Pods:       []pods.Pod{pod("p")},
			PodsSynced: true,
			Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": ours},
		}},
		"kubelet's current list wins over the import": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
				Imported:   known,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.snapshot.Unit = growth.GiB
			if tc.snapshot.GPUs == nil {
				tc.snapshot.GPUs = []growth.GPU{"B", "A"}
			}
			if tc.want == nil {
				tc.want = map[growth.PodUID]bus.Allocation{}
			}
			require.Equal(t, tc.want, allocations.Reconcile(tc.snapshot).Imported)
		})
	}
}

func TestReconcile_PodOnUnknownGPUHasNoDemand(t *testing.T) {
	c := allocations.Reconcile(allocations.Snapshot{
		Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
		Pods:       []pods.Pod{pod("p")},
		PodsSynced: true,
		Unit:       growth.GiB,
		GPUs:       []growth.GPU{"A", "B"},
	})
	require.ErrorContains(t, c.Pending["ns/p"], "ALIYUN_COM_GPU_MEM_IDX names none of this node's GPUs")
	require.Contains(t, c.Satisfied, slice.Key{Pod: "uid-p", Container: "main"})
}
