package allocations

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// slotGracePeriod is how long a slot that nobody seems to hold is kept: kubelet lists a container only after Allocate.
const slotGracePeriod = time.Minute

// Snapshot are all that is known at one instant.
type Snapshot struct {
	Devices []kubelet.ContainerDevices
	// Pods are this node's; PodsKnown is false until all of them have been listed once.
	Pods       []Pod
	PodsSynced bool
	// Recorded is what the bus says.
	Recorded map[growth.PodUID]bus.Allocation
	// Imported is what pods of another device plugin were known to hold before.
	Imported map[growth.PodUID]bus.Allocation
	Slots    []slot.Folder
	Unit     growth.MiB
	// GPUs are the node's, in the driver's order, by which another sharer numbers them.
	GPUs []growth.GPU
	Now  time.Time
}

// Corrections bring the bus and the disk in line with kubelet.
type Corrections struct {
	Put         []bus.Allocation
	Delete      []growth.PodUID
	RemoveSlots []string
	// Satisfied are the containers that hold their units.
	Satisfied map[slice.Key]struct{}
	// Imported is what pods hold that another device plugin started.
	Imported map[growth.PodUID]bus.Allocation
	// Pending says, for each pod that can not be written down yet, why.
	Pending map[string]error
}

// Drift counts the allocations in which the bus differs from kubelet.
func (c Corrections) Drift() int { return len(c.Put) + len(c.Delete) }

// Reconcile compares the books.
func Reconcile(b Snapshot) Corrections {
	pods := byName(b.Pods)
	listed := byPod(b.Devices)
	c := Corrections{Satisfied: satisfiedContainers(b.Devices, pods), Pending: map[string]error{}}
	actual := b.actual(listed, pods, c.Pending)
	for _, a := range actual {
		if recorded, ok := b.Recorded[a.Pod.UID]; !ok || !same(a, recorded) {
			c.Put = append(c.Put, a)
		}
	}
	slices.SortFunc(c.Put, func(x, y bus.Allocation) int { return cmp.Compare(x.Pod.UID, y.Pod.UID) })
	c.Imported = b.imports(actual)
	c.Delete = b.stale(actual)
	c.RemoveSlots = b.unusedSlots(listed)
	return c
}

// actual turns holdings into allocations, as far as the pods' UIDs are known.
func (b Snapshot) actual(listed map[podName][]kubelet.ContainerDevices, pods map[podName]*Pod, pending map[string]error) map[growth.PodUID]bus.Allocation {
	actual := make(map[growth.PodUID]bus.Allocation, len(b.Pods))
	for name, holdings := range listed {
		pod, ok := pods[name]
		if !ok {
			pending[name.String()] = fmt.Errorf("kubelet lists it, the API server does not (yet)")
			continue
		}
		if pod.Finished { // older kubelets list it for a while
			continue
		}
		a, err := b.allocation(*pod, holdings)
		if err != nil {
			pending[name.String()] = err
			continue
		}
		actual[pod.Ref.UID] = a
	}
	return actual
}

// same compares what is written, whatever version or unknown fields the record bears.
func same(a, b bus.Allocation) bool {
	return a.Pod == b.Pod && slices.EqualFunc(a.Containers, b.Containers, func(a, b bus.ContainerAllocation) bool {
		return a.Name == b.Name && a.Slot == b.Slot && slices.Equal(a.GPUs, b.GPUs) && slices.Equal(a.IDs, b.IDs)
	})
}

// stale lists what the bus holds for pods that are gone, and for pods whose ids are in other hands.
func (b Snapshot) stale(actual map[growth.PodUID]bus.Allocation) []growth.PodUID {
	if !b.PodsSynced {
		return nil
	}
	holders := map[string]growth.PodUID{}
	for uid, a := range actual {
		for _, container := range a.Containers {
			for _, id := range container.IDs {
				holders[id] = uid
			}
		}
	}
	var del []growth.PodUID
	for uid, recorded := range b.Recorded {
		_, holds := actual[uid]
		if !holds && (!b.alive(uid) || reassigned(recorded, holders)) {
			del = append(del, uid)
		}
	}
	slices.Sort(del)
	return del
}

func reassigned(a bus.Allocation, holders map[string]growth.PodUID) bool {
	for _, container := range a.Containers {
		for _, id := range container.IDs {
			if holder, ok := holders[id]; ok && holder != a.Pod.UID {
				return true
			}
		}
	}
	return false
}

// unusedSlots lists the slots that no container can have mounted: none of their ids is held, and no pod that kubelet does
// not list (because it is about to start, or because only an init container of it asks) could have been given them.
func (b Snapshot) unusedSlots(listed map[podName][]kubelet.ContainerDevices) []string {
	if !b.PodsSynced {
		return nil
	}
	inUse := make(map[string]struct{}, 4*len(b.Devices))
	for _, h := range b.Devices {
		for _, id := range h.IDs {
			inUse[id] = struct{}{}
		}
	}
	var unused []string
	for _, s := range b.Slots {
		if b.Now.Sub(s.Modified) > slotGracePeriod && !b.slotInUse(s, inUse) && !b.mayReceive(listed, len(s.IDs)) {
			unused = append(unused, s.Name)
		}
	}
	return unused
}

// slotInUse tells whether a container holds an id of the slot or, where the slot does not say its ids, all of them.
func (b Snapshot) slotInUse(s slot.Folder, inUse map[string]struct{}) bool {
	if len(s.IDs) == 0 {
		return slices.ContainsFunc(b.Devices, func(h kubelet.ContainerDevices) bool { return slice.Slot(h.IDs) == s.Name })
	}
	return slices.ContainsFunc(s.IDs, func(id string) bool {
		_, ok := inUse[id]
		return ok
	})
}

func (b Snapshot) mayReceive(listed map[podName][]kubelet.ContainerDevices, units int) bool {
	return slices.ContainsFunc(b.Pods, func(p Pod) bool {
		_, ok := listed[p.name()]
		return !ok && !p.Finished && slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Units == units })
	})
}
