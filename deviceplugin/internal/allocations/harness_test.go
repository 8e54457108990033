package allocations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

var now = time.Unix(10_000, 0)

func pod(name string, change ...func(*pods.Pod)) pods.Pod {
	p := pods.Pod{
		Ref: growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}, Count: 1,
		Containers: []pods.Container{{Name: "main", Units: 2}},
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

func numbered(n int) func(*pods.Pod) { return func(p *pods.Pod) { p.GPUIndex = &n } }

// imported returns the record of a pod that another plugin started. It has no slot.
func imported(name string, ids ...string) bus.Allocation {
	a := recorded(name, ids...)
	a.Containers[0].Slot = ""
	return a
}

func withUID(uid growth.PodUID) func(*pods.Pod) {
	return func(p *pods.Pod) { p.Ref.UID = uid }
}

func finished(p *pods.Pod) { p.Finished = true }

func holds(name string, ids ...string) kubelet.ContainerDevices {
	return kubelet.ContainerDevices{
		Namespace: "ns",
		Pod:       name,
		Container: "main",
		IDs:       ids,
	}
}

func recorded(name string, ids ...string) bus.Allocation {
	return bus.Allocation{Pod: pod(name).Ref, Containers: []bus.ContainerAllocation{{
		Name: "main",
		GPUs: []growth.GPUShare{{
			GPU:    "A",
			Memory: growth.MiB(len(ids)) * growth.GiB,
		}},
		IDs:  ids,
		Slot: slice.Slot(ids),
	}}}
}

func slotDir(age time.Duration, ids ...string) slot.Dir {
	return slot.Dir{Name: slice.Slot(ids), IDs: ids, Modified: now.Add(-age)}
}

// reconcileCase is one case of testReconcile.
type reconcileCase struct {
	snapshot allocations.Snapshot
	write    []bus.Allocation
	del      []growth.PodUID
	remove   []string
	pending  int
}

func testReconcile(t *testing.T, cases map[string]reconcileCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.snapshot.Unit = growth.GiB
			tc.snapshot.Now = now
			tc.snapshot.GPUs = []growth.GPU{"B", "A"}
			c := allocations.Reconcile(tc.snapshot)
			require.Equal(t, tc.write, c.Put)
			require.Equal(t, tc.del, c.Delete)
			require.Equal(t, tc.remove, c.RemoveSlots)
			require.Len(t, c.Pending, tc.pending)
			require.Equal(t, len(tc.write)+len(tc.del), c.Drift())
		})
	}
}
