package allocations_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// BenchmarkReconcile reconciles a node with 200 pods of four units each and no differences. Reconcile runs after each
// container start, so the next Allocate can wait for it.
func BenchmarkReconcile(b *testing.B) {
	snapshot := allocations.Snapshot{
		PodsSynced: true,
		Recorded:   map[growth.PodUID]bus.Allocation{},
		Unit:       growth.GiB,
		Now:        now,
	}
	for i := range 200 {
		p := pod(fmt.Sprintf("job-%03d", i))
		ids := []string(nil)
		for n := range 4 {
			ids = append(ids, slice.ID("GPU-6b8f9e2c-0000-4000-8000-000000000000", 4*i+n))
		}
		p.Containers[0].Units = len(ids)
		a := bus.Allocation{Pod: p.Ref, Containers: []bus.ContainerAllocation{{
			Name: "main",
			IDs:  ids,
			Slot: slice.Slot(ids),
			GPUs: []growth.GPUShare{{
				GPU:    "GPU-6b8f9e2c-0000-4000-8000-000000000000",
				Memory: 4 * growth.GiB,
			}},
		}}}
		snapshot.Pods = append(snapshot.Pods, p)
		snapshot.Recorded[p.Ref.UID] = a
		snapshot.Devices = append(snapshot.Devices, kubelet.ContainerDevices{
			Namespace: "ns",
			Pod:       p.Ref.Name,
			Container: "main",
			IDs:       ids,
		})
		snapshot.Slots = append(snapshot.Slots, slot.Dir{
			Name:     slice.Slot(ids),
			IDs:      ids,
			Modified: now.Add(-time.Hour),
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		if c := allocations.Reconcile(snapshot); c.Drift() != 0 || len(c.RemoveSlots) != 0 {
			b.Fatal("there must be no difference")
		}
	}
}
