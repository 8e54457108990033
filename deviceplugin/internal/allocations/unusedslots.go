package allocations

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
)

// slotGracePeriod is the minimum age of an unused slot before its removal: kubelet lists a container only after
// Allocate.
const slotGracePeriod = time.Minute

// unusedSlots returns the slots that no container can have mounted. No container holds an id of such a slot, and no
// unlisted pod could hold one. Kubelet does not list a pod that is about to start, or one in which only an init
// container requests units.
func (s Snapshot) unusedSlots(listed map[podName][]kubelet.ContainerDevices, holdings []slice.Holding) []string {
	if !s.PodsSynced {
		return nil
	}
	inUse := make(map[string]struct{}, 4*len(s.Devices))
	for _, h := range s.Devices {
		for _, id := range h.IDs {
			inUse[id] = struct{}{}
		}
	}
	for _, h := range holdings {
		for _, id := range h.IDs {
			inUse[id] = struct{}{}
		}
	}
	var unused []string
	for _, dir := range s.Slots {
		if s.Now.Sub(dir.Modified) <= slotGracePeriod || s.slotInUse(dir, inUse) {
			continue
		}
		if !s.mayReceive(listed, len(dir.IDs)) {
			unused = append(unused, dir.Name)
		}
	}
	return unused
}

// slotInUse reports whether a container holds an id of the slot. A slot without recorded ids is compared by name.
func (s Snapshot) slotInUse(dir slot.Dir, inUse map[string]struct{}) bool {
	if len(dir.IDs) == 0 {
		mounts := func(d kubelet.ContainerDevices) bool { return slice.Slot(d.IDs) == dir.Name }
		return slices.ContainsFunc(s.Devices, mounts)
	}
	return slices.ContainsFunc(dir.IDs, func(id string) bool {
		_, ok := inUse[id]
		return ok
	})
}

// mayReceive reports whether a pod that kubelet does not list requests exactly this number of units. Kubelet may have
// allocated the slot's ids to it.
func (s Snapshot) mayReceive(listed map[podName][]kubelet.ContainerDevices, units int) bool {
	requests := func(c pods.Container) bool { return c.Units == units }
	return slices.ContainsFunc(s.Pods, func(p pods.Pod) bool {
		_, ok := listed[nameOf(p)]
		return !ok && !p.Finished && slices.ContainsFunc(p.Containers, requests)
	})
}
