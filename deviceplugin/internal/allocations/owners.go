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

// recordOwner records the container of the pod that is about to start with the ids, and passes on what its job has saved before it
// moved. An init container is recognised by its size, because kubelet does not list it.
func (t *Tracker) recordOwner(pod pods.Pod, devices []kubelet.ContainerDevices, ids []string) {
	if err := t.Slots.SetCheckpoint(slice.Slot(ids), pod.Saved); err != nil {
		t.Log.Warn("a job that has moved does not get what it has saved", "slot", slice.Slot(ids), "pod", pod.Ref.String(), "err", err)
	}
	sorted := slices.Sorted(slices.Values(ids))
	has := func(d kubelet.ContainerDevices) bool { return slices.Equal(d.IDs, sorted) }
	name := ""
	if i := slices.IndexFunc(devices, has); i >= 0 {
		name = devices[i].Container
	} else if i := slices.IndexFunc(pod.Containers, func(c pods.Container) bool { return c.Init && c.Units == len(ids) }); i >= 0 {
		name = pod.Containers[i].Name
	}
	if name != "" {
		t.setOwner(slice.Slot(ids), sorted, slot.Owner{Pod: pod.Ref, Container: name, Boot: t.Boot, Started: time.Now()})
	}
}

// recordInitOwner records the init container of a pod that kubelet does not list at all: the pod that the ids were claimed
// for.
func (t *Tracker) recordInitOwner(ids []string) {
	t.mu.Lock()
	c, claimed := t.claims[slice.Slot(ids)]
	t.mu.Unlock()
	podList, _ := t.Pods.Pods()
	at := slices.IndexFunc(podList, func(p pods.Pod) bool { return p.Ref.UID == c.demand.Pod })
	if claimed && at >= 0 {
		t.recordOwner(podList[at], nil, ids)
	}
}

// setOwner records the owner of a slot on disk. The ids are those of the slot.
func (t *Tracker) setOwner(name string, ids []string, owner slot.Owner) {
	if err := t.Slots.SetOwner(name, owner); err != nil {
		t.Log.Warn("the owner of a slot could not be recorded", "slot", name, "pod", owner.Pod.String(), "err", err)
		return
	}
	known := t.knownSlots()
	t.mu.Lock()
	defer t.mu.Unlock()
	others := slices.DeleteFunc(slices.Clone(known), func(d slot.Dir) bool { return d.Name == name })
	t.slots = append(others, slot.Dir{Name: name, IDs: ids, Owner: owner, Modified: owner.Started})
}
