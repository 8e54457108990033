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

// slotGrace is how long a slot that nobody seems to hold is kept: kubelet lists a container only after Allocate.
const slotGrace = time.Minute

// Books are all that is known at one instant.
type Books struct {
	Holdings []kubelet.Holding
	// Pods are this node's; PodsKnown is false until all of them have been listed once.
	Pods      []Pod
	PodsKnown bool
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
	Write  []bus.Allocation
	Forget []growth.PodUID
	Remove []string
	// Settled are the containers that hold their units.
	Settled map[slice.Key]struct{}
	// Imported is what pods hold that another device plugin started.
	Imported map[growth.PodUID]bus.Allocation
	// Pending says, for each pod that can not be written down yet, why.
	Pending map[string]error
}

// Drift counts the allocations in which the bus differs from kubelet.
func (c Corrections) Drift() int { return len(c.Write) + len(c.Forget) }

// Balance compares the books.
func Balance(b Books) Corrections {
	pods := byName(b.Pods)
	listed := byPod(b.Holdings)
	c := Corrections{Settled: settled(b.Holdings, pods), Pending: map[string]error{}}
	actual := b.actual(listed, pods, c.Pending)
	for _, a := range actual {
		if recorded, ok := b.Recorded[a.Pod.UID]; !ok || !same(a, recorded) {
			c.Write = append(c.Write, a)
		}
	}
	slices.SortFunc(c.Write, func(x, y bus.Allocation) int { return cmp.Compare(x.Pod.UID, y.Pod.UID) })
	c.Imported = b.imports(actual)
	c.Forget = b.forgotten(actual)
	c.Remove = b.unheld(listed)
	return c
}

// actual turns holdings into allocations, as far as the pods' UIDs are known.
func (b Books) actual(listed map[podName][]kubelet.Holding, pods map[podName]*Pod, pending map[string]error) map[growth.PodUID]bus.Allocation {
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

// forgotten lists what the bus holds for pods that are gone, and for pods whose ids are in other hands.
func (b Books) forgotten(actual map[growth.PodUID]bus.Allocation) []growth.PodUID {
	if !b.PodsKnown {
		return nil
	}
	taken := map[string]growth.PodUID{}
	for uid, a := range actual {
		for _, container := range a.Containers {
			for _, id := range container.IDs {
				taken[id] = uid
			}
		}
	}
	var forget []growth.PodUID
	for uid, recorded := range b.Recorded {
		_, holds := actual[uid]
		if !holds && (!b.alive(uid) || lost(recorded, taken)) {
			forget = append(forget, uid)
		}
	}
	slices.Sort(forget)
	return forget
}

func lost(a bus.Allocation, taken map[string]growth.PodUID) bool {
	for _, container := range a.Containers {
		for _, id := range container.IDs {
			if holder, ok := taken[id]; ok && holder != a.Pod.UID {
				return true
			}
		}
	}
	return false
}

// unheld lists the slots that no container can have mounted: none of their ids is held, and no pod that kubelet does
// not list (because it is about to start, or because only an init container of it asks) could have been given them.
func (b Books) unheld(listed map[podName][]kubelet.Holding) []string {
	if !b.PodsKnown {
		return nil
	}
	held := make(map[string]struct{}, 4*len(b.Holdings))
	for _, h := range b.Holdings {
		for _, id := range h.IDs {
			held[id] = struct{}{}
		}
	}
	var remove []string
	for _, folder := range b.Slots {
		if b.Now.Sub(folder.Made) > slotGrace && !b.mounted(folder, held) && !b.unlisted(listed, len(folder.IDs)) {
			remove = append(remove, folder.Name)
		}
	}
	return remove
}

// mounted tells whether a container holds an id of the slot or, where the slot does not say its ids, all of them.
func (b Books) mounted(folder slot.Folder, held map[string]struct{}) bool {
	if len(folder.IDs) == 0 {
		return slices.ContainsFunc(b.Holdings, func(h kubelet.Holding) bool { return slice.Slot(h.IDs) == folder.Name })
	}
	return slices.ContainsFunc(folder.IDs, func(id string) bool {
		_, ok := held[id]
		return ok
	})
}

func (b Books) unlisted(listed map[podName][]kubelet.Holding, units int) bool {
	return slices.ContainsFunc(b.Pods, func(p Pod) bool {
		_, ok := listed[p.name()]
		return !ok && !p.Finished && slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Units == units })
	})
}
