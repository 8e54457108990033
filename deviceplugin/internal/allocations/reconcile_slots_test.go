package allocations_test

import (
	"testing"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestReconcile_Slots(t *testing.T) {
	testReconcile(t, map[string]reconcileCase{
		"a slot within its grace period": {
			snapshot: allocations.Snapshot{PodsSynced: true, Slots: []slot.Dir{slotDir(time.Second, "A/0")}},
		},
		"an init container's slot whose ids the next container uses": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots:      []slot.Dir{slotDir(time.Hour, "A/0", "A/1")},
			},
		},
		"an init container's slot whose ids no other container uses": {
			snapshot: allocations.Snapshot{
				Pods:       []pods.Pod{pod("p", func(p *pods.Pod) { p.Containers[0].Init = true })},
				PodsSynced: true,
				Slots:      []slot.Dir{slotDir(time.Hour, "A/0", "A/1")},
			},
		},
		"slots without recorded ids, one of them in use": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots:      []slot.Dir{{Name: slice.Slot([]string{"A/0"})}, {Name: slice.Slot([]string{"A/1"})}},
			},
			remove: []string{slice.Slot([]string{"A/1"})},
		},
	})
}
