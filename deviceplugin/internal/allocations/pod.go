package allocations

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Pod is a pod bound to this node, as far as the books need it.
type Pod struct {
	Ref     growth.PodRef
	Created time.Time
	// Finished pods have ended for good: kubelet takes their units back.
	Finished bool
	// Terminating pods are being deleted.
	Terminating bool
	// Count is on how many GPUs together a container's units are asked for.
	Count int
	// Planned are the GPUs that its Binding named.
	Planned []growth.GPU
	// GPUIndex is the number of the GPU that another sharer's scheduler wrote down, nil where none did.
	GPUIndex *int
	// Cores is per cent of a GPU's compute, 0 for no wish.
	Cores int
	// Containers lists those that ask for units, in the order in which kubelet admits them.
	Containers []Container
}

// Container is a container that asks for units.
type Container struct {
	Name  string
	Units int
	// Init marks an ordinary init container: kubelet gives its units to the containers after it, and does not list it.
	Init bool
}

// Demands lists what kubelet will be asked for: by pods that are bound here, reserved for or not, and by pods that
// have a reservation but are not seen yet. Containers that are settled hold their units already, or seem to.
func Demands(pods []Pod, reservations map[growth.PodUID]bus.Reservation, satisfied ...map[slice.Key]struct{}) []slice.Demand {
	var demands []slice.Demand
	unsatisfied := func(pod growth.PodUID, container string) bool {
		return !slices.ContainsFunc(satisfied, func(s map[slice.Key]struct{}) bool {
			_, ok := s[slice.Key{
				Pod:       pod,
				Container: container,
			}]
			return ok
		})
	}
	seen := map[growth.PodUID]struct{}{}
	for _, p := range pods {
		seen[p.Ref.UID] = struct{}{}
		if p.Finished || p.Terminating {
			continue
		}
		if !slices.ContainsFunc(p.Containers, func(c Container) bool { return unsatisfied(p.Ref.UID, c.Name) }) {
			continue // nearly all
		}
		gpus := reservedGPUs(reservations[p.Ref.UID])
		if len(gpus) == 0 && len(p.Planned) == p.Count { // not seen yet, though the pod is: the bus and the API server are two watches
			gpus = p.Planned
		}
		for i, c := range p.Containers {
			if c.Units == 0 || !unsatisfied(p.Ref.UID, c.Name) {
				continue
			}
			demands = append(demands, slice.Demand{
				Pod:       p.Ref.UID,
				Container: c.Name,
				Created:   p.Created,
				Units:     c.Units,
				Count:     max(p.Count, len(gpus), 1),
				Room:      roomFrom(p.Containers[i:]),
				GPUs:      gpus,
				Cores:     p.Cores,
				Init:      c.Init,
			})
		}
	}
	for uid, r := range reservations {
		if _, ok := seen[uid]; ok {
			continue
		}
		gpus := reservedGPUs(r)
		for _, c := range r.Containers {
			if c.Units > 0 && unsatisfied(uid, c.Name) {
				demands = append(demands, slice.Demand{
					Pod:       uid,
					Container: c.Name,
					Created:   r.Created,
					Units:     c.Units,
					Count:     max(len(gpus), 1),
					GPUs:      gpus,
				})
			}
		}
	}
	return demands
}

// roomFrom is what a pod's containers need from the first of these on. Init containers need no room of their own.
func roomFrom(containers []Container) int {
	sum := 0
	init := 0
	for _, c := range containers {
		if c.Init {
			init = max(init, c.Units)
		} else {
			sum += c.Units
		}
	}
	return max(sum, init)
}

func reservedGPUs(r bus.Reservation) []growth.GPU {
	var gpus []growth.GPU
	for _, share := range r.GPUs {
		gpus = append(gpus, share.GPU)
	}
	return gpus
}

// allocation writes down what kubelet gave to a pod's containers.
func (b Snapshot) allocation(pod Pod, devices []kubelet.ContainerDevices) (bus.Allocation, error) {
	a := bus.Allocation{Pod: pod.Ref}
	for _, d := range devices {
		if slice.HasForeign(d.IDs) {
			imported, err := b.imported(pod, d)
			if err != nil {
				return bus.Allocation{}, err
			}
			a.Containers = append(a.Containers, imported)
			continue
		}
		parts, err := slice.Spread(d.IDs)
		if err != nil {
			return bus.Allocation{}, err
		}
		a.Containers = append(a.Containers, bus.ContainerAllocation{
			Name: d.Container,
			GPUs: slice.Shares(parts, b.Unit),
			IDs:  d.IDs,
			Slot: slice.Slot(d.IDs),
		})
	}
	return a, nil
}
