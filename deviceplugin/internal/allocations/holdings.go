package allocations

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// holder is what the node's records say about one container.
type holder struct {
	name  podName
	ids   []string
	owner slot.Owner // zero if no slot names the container
}

// Holdings returns the containers of live pods with their ids, also those that kubelet has forgotten. Of several sources the
// last one counts: the allocation record on the bus, the latest slot on disk, kubelet's current list.
func (s Snapshot) Holdings() []slice.Holding {
	holders := map[slice.Key]holder{}
	for uid, a := range s.Recorded {
		for _, c := range a.Containers {
			name := podName{a.Pod.Namespace, a.Pod.Name}
			holders[slice.Key{Pod: uid, Container: c.Name}] = holder{name: name, ids: c.IDs}
		}
	}
	for _, dir := range s.Slots {
		o := dir.Owner
		key := slice.Key{Pod: o.Pod.UID, Container: o.Container}
		if !o.Known() || len(dir.IDs) == 0 || o.Started.Before(holders[key].owner.Started) {
			continue
		}
		holders[key] = holder{name: podName{o.Pod.Namespace, o.Pod.Name}, ids: dir.IDs, owner: o}
	}
	podsByName := byName(s.Pods)
	for _, d := range s.Devices {
		pod, known := podsByName[podName{d.Namespace, d.Pod}]
		if !known {
			continue
		}
		key := slice.Key{Pod: pod.Ref.UID, Container: d.Container}
		holders[key] = holder{name: nameOf(*pod), ids: d.IDs, owner: holders[key].owner}
	}
	return s.alivePods(holders)
}

// alivePods returns the holdings of pods that have not ended. Until the pods have been listed, all pods count as alive.
func (s Snapshot) alivePods(holders map[slice.Key]holder) []slice.Holding {
	podsByUID := make(map[growth.PodUID]*pods.Pod, len(s.Pods))
	for i, p := range s.Pods {
		podsByUID[p.Ref.UID] = &s.Pods[i]
	}
	var holdings []slice.Holding
	for key, h := range holders {
		pod, known := podsByUID[key.Pod]
		if s.PodsSynced && (!known || pod.Finished) || slice.HasForeign(h.ids) {
			continue
		}
		holding := slice.Holding{Key: key, Name: h.name.String(), IDs: h.ids, Running: s.mayRun(pod, key.Container, h.owner)}
		if known {
			holding.Created = pod.Created
			holding.Init = isInit(*pod, key.Container)
		}
		holdings = append(holdings, holding)
	}
	slices.SortFunc(holdings, func(a, b slice.Holding) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
	})
	return holdings
}

// mayRun reports whether a container may be running. A container that started before the machine did has ended, even
// if the API server still reports it as running.
func (s Snapshot) mayRun(pod *pods.Pod, container string, owner slot.Owner) bool {
	if owner.Known() && owner.Boot != s.Boot {
		return false
	}
	return !s.PodsSynced || pod != nil && runs(*pod, container)
}

func runs(pod pods.Pod, container string) bool {
	return slices.ContainsFunc(pod.Containers, func(c pods.Container) bool { return c.Name == container && c.Running })
}

func isInit(pod pods.Pod, container string) bool {
	return slices.ContainsFunc(pod.Containers, func(c pods.Container) bool { return c.Name == container && c.Init })
}

// running returns the containers that need no allocation, because they run.
func running(holdings []slice.Holding) map[slice.Key]struct{} {
	found := map[slice.Key]struct{}{}
	for _, h := range holdings {
		if h.Running {
			found[h.Key] = struct{}{}
		}
	}
	return found
}

// Holdings returns the containers of the node's live pods with their ids, by the latest state of all sources.
func (t *Tracker) Holdings() []slice.Holding {
	podList, synced := t.Pods.Pods()
	slots := t.knownSlots()
	t.mu.Lock()
	devices := t.devices
	t.mu.Unlock()
	return Snapshot{
		Devices:    devices,
		Pods:       podList,
		PodsSynced: synced,
		Recorded:   t.Allocations(),
		Slots:      slots,
		Boot:       t.Boot,
	}.Holdings()
}

// knownSlots returns the slots of the last reconciliation. Before the first one it reads them from disk.
func (t *Tracker) knownSlots() []slot.Dir {
	t.mu.Lock()
	slots := t.slots
	t.mu.Unlock()
	if slots != nil {
		return slots
	}
	slots, err := t.Slots.List()
	if err != nil {
		t.Log.Warn("slots could not be listed", "err", err)
		return nil
	}
	t.setSlots(slots)
	return slots
}

func (t *Tracker) setSlots(slots []slot.Dir) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots = append([]slot.Dir{}, slots...) // not nil: they have been read
}

// runs reports whether a container of the allocation runs.
func (s Snapshot) runs(a bus.Allocation) bool {
	return slices.ContainsFunc(s.Pods, func(p pods.Pod) bool {
		return p.Ref.UID == a.Pod.UID && slices.ContainsFunc(a.Containers, func(c bus.ContainerAllocation) bool {
			return runs(p, c.Name)
		})
	})
}
