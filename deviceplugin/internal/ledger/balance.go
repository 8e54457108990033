package ledger

import (
	"cmp"
	"fmt"
	"reflect"
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
	c := Corrections{Settled: map[slice.Key]struct{}{}, Pending: map[string]error{}}
	actual := b.actual(&c)
	for _, a := range actual {
		if recorded, ok := b.Recorded[a.Pod.UID]; !ok || !same(a, recorded) {
			c.Write = append(c.Write, a)
		}
		for _, container := range a.Containers {
			c.Settled[slice.Key{Pod: a.Pod.UID, Container: container.Name}] = struct{}{}
		}
	}
	slices.SortFunc(c.Write, func(x, y bus.Allocation) int { return cmp.Compare(x.Pod.UID, y.Pod.UID) })
	c.Imported = b.imports(actual)
	c.Forget = b.forgotten(actual)
	c.Remove = b.unheld()
	return c
}

// actual turns holdings into allocations, as far as the pods' UIDs are known.
func (b Books) actual(c *Corrections) map[growth.PodUID]bus.Allocation {
	actual := map[growth.PodUID]bus.Allocation{}
	for key, holdings := range byPod(b.Holdings) {
		pod, ok := holder(b.Pods, key)
		if !ok {
			c.Pending[key] = fmt.Errorf("kubelet lists it, the API server does not (yet)")
			continue
		}
		if pod.Finished { // older kubelets list it for a while
			continue
		}
		a, err := b.allocation(pod, holdings)
		if err != nil {
			c.Pending[key] = err
			for _, h := range holdings { // wherever its units are: it will not ask for them again
				c.Settled[slice.Key{Pod: pod.Ref.UID, Container: h.Container}] = struct{}{}
			}
			continue
		}
		actual[pod.Ref.UID] = a
	}
	return actual
}

func byPod(holdings []kubelet.Holding) map[string][]kubelet.Holding {
	pods := map[string][]kubelet.Holding{}
	for _, h := range holdings {
		key := growth.PodRef{Namespace: h.Namespace, Name: h.Pod}.String()
		pods[key] = append(pods[key], h)
	}
	return pods
}

// holder finds the pod of a name: of two, the one that has not ended.
func holder(pods []Pod, key string) (Pod, bool) {
	var found Pod
	for _, p := range pods {
		if p.Ref.String() == key && (found.Ref.UID == "" || found.Finished) {
			found = p
		}
	}
	return found, found.Ref.UID != ""
}

// same compares what is written, whatever version or unknown fields the record bears.
func same(a, b bus.Allocation) bool {
	return a.Pod == b.Pod && reflect.DeepEqual(a.Containers, b.Containers)
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
func (b Books) unheld() []string {
	if !b.PodsKnown {
		return nil
	}
	held, listed := map[string]struct{}{}, byPod(b.Holdings)
	for _, h := range b.Holdings {
		held[slice.Slot(h.IDs)] = struct{}{}
		for _, id := range h.IDs {
			held[id] = struct{}{}
		}
	}
	var remove []string
	for _, folder := range b.Slots {
		isHeld := func(id string) bool { _, ok := held[id]; return ok }
		if !isHeld(folder.Name) && !slices.ContainsFunc(folder.IDs, isHeld) && b.Now.Sub(folder.Made) > slotGrace && !b.unlisted(listed, len(folder.IDs)) {
			remove = append(remove, folder.Name)
		}
	}
	return remove
}

func (b Books) unlisted(listed map[string][]kubelet.Holding, units int) bool {
	return slices.ContainsFunc(b.Pods, func(p Pod) bool {
		_, ok := listed[p.Ref.String()]
		return !ok && !p.Finished && slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Units == units })
	})
}
