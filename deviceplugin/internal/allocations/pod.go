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
	// Leaving pods are being deleted.
	Leaving bool
	// Count is on how many GPUs together a container's units are asked for.
	Count int
	// Planned are the GPUs that its Binding named.
	Planned []growth.GPU
	// Number is the number of the GPU that another sharer's scheduler wrote down, nil where none did.
	Number *int
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
func Demands(pods []Pod, reservations map[growth.PodUID]bus.Reservation, settled ...map[slice.Key]struct{}) []slice.Demand {
	var demands []slice.Demand
	open := func(pod growth.PodUID, container string) bool {
		return !slices.ContainsFunc(settled, func(s map[slice.Key]struct{}) bool {
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
		if p.Finished || p.Leaving {
			continue
		}
		if !slices.ContainsFunc(p.Containers, func(c Container) bool { return open(p.Ref.UID, c.Name) }) {
			continue // nearly all
		}
		on := reserved(reservations[p.Ref.UID])
		if len(on) == 0 && len(p.Planned) == p.Count { // not seen yet, though the pod is: the bus and the API server are two watches
			on = p.Planned
		}
		for i, c := range p.Containers {
			if c.Units == 0 || !open(p.Ref.UID, c.Name) {
				continue
			}
			demands = append(demands, slice.Demand{
				Pod:       p.Ref.UID,
				Container: c.Name,
				Created:   p.Created,
				Units:     c.Units,
				Count:     max(p.Count, len(on), 1),
				Room:      room(p.Containers[i:]),
				On:        on,
				Cores:     p.Cores,
				Init:      c.Init,
			})
		}
	}
	for uid, r := range reservations {
		if _, ok := seen[uid]; ok {
			continue
		}
		on := reserved(r)
		for _, c := range r.Containers {
			if c.Units > 0 && open(uid, c.Name) {
				demands = append(demands, slice.Demand{
					Pod:       uid,
					Container: c.Name,
					Created:   r.Created,
					Units:     c.Units,
					Count:     max(len(on), 1),
					On:        on,
				})
			}
		}
	}
	return demands
}

// room is what a pod's containers need from the first of these on. Init containers need no room of their own.
func room(containers []Container) int {
	sum := 0
	initial := 0
	for _, c := range containers {
		if c.Init {
			initial = max(initial, c.Units)
		} else {
			sum += c.Units
		}
	}
	return max(sum, initial)
}

func reserved(r bus.Reservation) []growth.GPU {
	var on []growth.GPU
	for _, share := range r.GPUs {
		on = append(on, share.GPU)
	}
	return on
}

// allocation writes down what kubelet gave to a pod's containers.
func (b Books) allocation(pod Pod, holdings []kubelet.Holding) (bus.Allocation, error) {
	a := bus.Allocation{Pod: pod.Ref}
	for _, h := range holdings {
		if slice.Foreign(h.IDs) {
			imported, err := b.imported(pod, h)
			if err != nil {
				return bus.Allocation{}, err
			}
			a.Containers = append(a.Containers, imported)
			continue
		}
		parts, err := slice.Spread(h.IDs)
		if err != nil {
			return bus.Allocation{}, err
		}
		a.Containers = append(a.Containers, bus.ContainerAllocation{
			Name: h.Container,
			GPUs: slice.Shares(parts, b.Unit),
			IDs:  h.IDs,
			Slot: slice.Slot(h.IDs),
		})
	}
	return a, nil
}
