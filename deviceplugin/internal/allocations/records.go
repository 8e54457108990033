package allocations

import (
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func byUID[T any](values map[string]T) map[growth.PodUID]T {
	result := make(map[growth.PodUID]T, len(values))
	for key, value := range values {
		if parsed, err := bus.ParseKey(key); err == nil {
			result[parsed.Pod] = value
		}
	}
	return result
}

func decodeAllocation(e bus.Entry) (bus.Allocation, error) {
	a, err := bus.Decode[bus.Allocation](e.Value)
	if err != nil {
		return bus.Allocation{}, err
	}
	return a, checkOwner(e.Key, a.Pod)
}

func decodeReservation(e bus.Entry) (bus.Reservation, error) {
	r, err := bus.Decode[bus.Reservation](e.Value)
	if err != nil {
		return bus.Reservation{}, err
	}
	if slices.ContainsFunc(r.Containers, func(c bus.ContainerRequest) bool { return c.Units < 0 }) {
		return bus.Reservation{}, fmt.Errorf("%s reserves a negative number of units", e.Key)
	}
	return r, checkOwner(e.Key, r.Pod)
}

// checkOwner verifies that a record is stored under the key of its own pod.
func checkOwner(key string, pod growth.PodRef) error {
	if parsed, err := bus.ParseKey(key); err != nil || parsed.Pod != pod.UID {
		return fmt.Errorf("%s holds a record of pod %s (%s)", key, pod, pod.UID)
	}
	return nil
}

// allocation returns the record of the devices that kubelet gave to a pod's containers.
func (s Snapshot) allocation(pod pods.Pod, devices []kubelet.ContainerDevices) (bus.Allocation, error) {
	a := bus.Allocation{Pod: pod.Ref}
	for _, d := range devices {
		if slice.HasForeign(d.IDs) {
			imported, err := s.imported(pod, d)
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
			GPUs: slice.Shares(parts, s.Unit),
			IDs:  d.IDs,
			Slot: slice.Slot(d.IDs),
		})
	}
	return a, nil
}
