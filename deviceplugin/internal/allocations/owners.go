package allocations

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
)

// owners returns the containers that kubelet lists, by the slot that they have mounted.
func (s Snapshot) owners(podsByName map[podName]*pods.Pod) map[string]slot.Owner {
	recorded := make(map[string]slot.Owner, len(s.Slots))
	for _, dir := range s.Slots {
		recorded[dir.Name] = dir.Owner
	}
	owners := map[string]slot.Owner{}
	for _, d := range s.Devices {
		pod, known := podsByName[podName{d.Namespace, d.Pod}]
		if !known || pod.Finished || slice.HasForeign(d.IDs) {
			continue
		}
		name := slice.Slot(d.IDs)
		previous, exists := recorded[name]
		owner := slot.Owner{Pod: pod.Ref, Container: d.Container, Boot: s.Boot, Started: s.Now}
		same := previous.Pod == owner.Pod && previous.Container == owner.Container
		if exists && (!same || previous.Boot != s.Boot && runs(*pod, d.Container)) {
			owners[name] = owner
		}
	}
	return owners
}

// recordOwner records the container that is about to start with the ids.
func (t *Tracker) recordOwner(pod pods.Pod, devices []kubelet.ContainerDevices, ids []string) {
	sorted := slices.Sorted(slices.Values(ids))
	for _, d := range devices {
		if slices.Equal(d.IDs, sorted) {
			owner := slot.Owner{Pod: pod.Ref, Container: d.Container, Boot: t.Boot, Started: time.Now()}
			t.setOwner(slice.Slot(ids), owner)
		}
	}
}

// setOwner records the owner of a slot on disk.
func (t *Tracker) setOwner(name string, owner slot.Owner) {
	if err := t.Slots.SetOwner(name, owner); err != nil {
		t.Log.Warn("the owner of a slot could not be recorded", "slot", name, "pod", owner.Pod.String(), "err", err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	slots := slices.Clone(t.slots)
	for i := range slots {
		if slots[i].Name == name {
			slots[i].Owner = owner
		}
	}
	t.slots = slots
}
