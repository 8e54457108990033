package allocations

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Snapshot is the state of kubelet, the API server, the bus and the disk at one instant.
type Snapshot struct {
	Devices []kubelet.ContainerDevices
	// Listed are the pods that kubelet knows, with or without devices.
	Listed []kubelet.PodName
	// Pods are the pods of this node. PodsSynced is false until they have been listed once.
	Pods       []pods.Pod
	PodsSynced bool
	// Recorded are the allocation records on the bus.
	Recorded map[growth.PodUID]bus.Allocation
	// Imported are the known allocations of pods that another device plugin started.
	Imported map[growth.PodUID]bus.Allocation
	Slots    []slot.Dir
	Unit     growth.MiB
	// GPUs are in the driver's order. Other GPU sharing plugins identify a GPU by its index in this order.
	GPUs []growth.GPU
	// Boot identifies the current boot of the machine.
	Boot string
	Now  time.Time
}

// Corrections are the changes that make the bus and the disk agree with kubelet, and what the comparison found.
type Corrections struct {
	Put         []bus.Allocation
	Delete      []growth.PodUID
	RemoveSlots []string
	// Owners are the containers that own a slot, by slot.
	Owners map[string]slot.Owner
	// Forgotten are the running containers whose devices kubelet has forgotten.
	Forgotten []slice.Holding
	// Satisfied are the containers that hold their units.
	Satisfied map[slice.Key]struct{}
	// Imported are the allocations of pods that another device plugin started.
	Imported map[growth.PodUID]bus.Allocation
	// Pending explains, by pod, why an allocation cannot be recorded yet.
	Pending map[string]error
}

// Drift counts the allocation records that differ from kubelet.
func (c Corrections) Drift() int { return len(c.Put) + len(c.Delete) }

// Reconcile compares the snapshot's sources and returns the corrections.
func Reconcile(s Snapshot) Corrections {
	podsByName := byName(s.Pods)
	listed := byPod(s.Devices)
	c := Corrections{Satisfied: satisfiedContainers(s.Devices, podsByName), Pending: map[string]error{}}
	actual := s.actual(listed, podsByName, c.Pending)
	holdings := s.Holdings()
	c.Forgotten = s.forgotten(holdings)
	s.restore(actual, holdings, c.Forgotten)
	for _, a := range actual {
		if recorded, ok := s.Recorded[a.Pod.UID]; !ok || !same(a, recorded) {
			c.Put = append(c.Put, a)
		}
	}
	slices.SortFunc(c.Put, func(x, y bus.Allocation) int { return cmp.Compare(x.Pod.UID, y.Pod.UID) })
	c.Imported = s.imports(actual)
	c.Delete = s.stale(actual)
	c.RemoveSlots = s.unusedSlots(listed, holdings)
	c.Owners = s.owners(podsByName)
	return c
}

// actual converts kubelet's list to allocations, for the pods whose UID is known.
func (s Snapshot) actual(
	listed map[podName][]kubelet.ContainerDevices, podsByName map[podName]*pods.Pod, pending map[string]error,
) map[growth.PodUID]bus.Allocation {
	actual := make(map[growth.PodUID]bus.Allocation, len(s.Pods))
	for name, devices := range listed {
		pod, ok := podsByName[name]
		if !ok {
			pending[name.String()] = fmt.Errorf("kubelet lists the pod, but the API server has not reported it (yet)")
			continue
		}
		if pod.Finished { // older kubelets list ended pods for a while
			continue
		}
		a, err := s.allocation(*pod, devices)
		if err != nil {
			pending[name.String()] = err
			continue
		}
		actual[pod.Ref.UID] = a
	}
	return actual
}

// same compares the contents of two records, without their version and unknown fields.
func same(a, b bus.Allocation) bool {
	return a.Pod == b.Pod && slices.EqualFunc(a.Containers, b.Containers, func(a, b bus.ContainerAllocation) bool {
		return a.Name == b.Name && a.Slot == b.Slot && slices.Equal(a.GPUs, b.GPUs) && slices.Equal(a.IDs, b.IDs)
	})
}

// stale returns the pods whose records must be deleted: the pod is gone, or it does not run and another pod holds its
// ids. The record of a running pod stays, even if kubelet has forgotten its devices.
func (s Snapshot) stale(actual map[growth.PodUID]bus.Allocation) []growth.PodUID {
	if !s.PodsSynced {
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
	for uid, recorded := range s.Recorded {
		_, holds := actual[uid]
		if !holds && (!s.alive(uid) || !s.runs(recorded) && reassigned(recorded, holders)) {
			del = append(del, uid)
		}
	}
	slices.Sort(del)
	return del
}

// reassigned reports whether another pod holds an id of the allocation.
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
