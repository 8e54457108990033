package allocations

import (
	"slices"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Demands lists the containers that kubelet will allocate for: those of pods bound to this node, with or without a
// reservation, and those of reservations whose pod is not known yet. Containers in satisfied hold their units
// already.
func Demands(
	podList []pods.Pod, reservations map[growth.PodUID]bus.Reservation, satisfied ...map[slice.Key]struct{},
) []slice.Demand {
	var demands []slice.Demand
	unsatisfied := func(pod growth.PodUID, container string) bool {
		return !slices.ContainsFunc(satisfied, func(s map[slice.Key]struct{}) bool {
			_, ok := s[slice.Key{Pod: pod, Container: container}]
			return ok
		})
	}
	seen := map[growth.PodUID]struct{}{}
	for _, p := range podList {
		seen[p.Ref.UID] = struct{}{}
		if p.Finished || p.Terminating {
			continue
		}
		if !slices.ContainsFunc(p.Containers, func(c pods.Container) bool { return unsatisfied(p.Ref.UID, c.Name) }) {
			continue // nearly all pods
		}
		gpus := reservedGPUs(reservations[p.Ref.UID])
		// The pod watch can be ahead of the bus watch; the Binding names the same GPUs.
		if len(gpus) == 0 && len(p.Planned) == p.Count {
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

// roomFrom returns the units that the containers need together. Init containers share the units of the others.
func roomFrom(containers []pods.Container) int {
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
