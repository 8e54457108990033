package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// maxAttempts bounds how often one decision is repeated. With every conflict some other bind succeeds, so that concurrent
// binds to one GPU need about as many attempts as there are binds.
const maxAttempts = 32

// Reserve chooses GPUs of the node for the pod and reserves them on the bus. It keeps the pod's present GPUs if they still
// fit. It returns the revision of the reservation.
func (s *Scheduler) Reserve(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error) {
	planned, revision, err := s.reserve(ctx, pod, node)
	if unavailable(err) {
		err = fmt.Errorf("%w: %w", ErrBusUnavailable, err)
	}
	return planned, revision, err
}

// reserve is Reserve with unchanged errors. A reservation that is returned with an error may have been written.
func (s *Scheduler) reserve(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error) {
	snapshot := s.Cache.Snapshot()
	switch {
	case !snapshot.Synced:
		return bus.Reservation{}, 0, errUnsynced
	case snapshot.Unavailable != nil:
		return bus.Reservation{}, 0, snapshot.Unavailable
	}
	info, revision := snapshot.Node(node), snapshot.Revision
	for range maxAttempts {
		assumed := s.Assumed.On(node, revision)
		planned, vacant, err := s.plan(snapshot, info, pod, assumed.All())
		if err != nil {
			return bus.Reservation{}, 0, fmt.Errorf("node %s: %w", node, err)
		}
		basis := reservations.Basis{
			Node:      vacant,
			Revision:  revision,
			Published: info.Published,
			Previous:  info.Reservations[pod.Ref.UID].Revision,
			Assumed:   assumed.Written,
		}
		if own, written := assumed.Written[pod.Ref.UID]; written {
			basis.Previous = own.Revision
		}
		basis.Held = held(info, pod, assumed)
		reserved, err := s.Store.Reserve(ctx, basis, planned)
		if err == nil {
			s.Assumed.AddWritten(node, revision, reservations.Versioned{Reservation: planned, Revision: reserved})
		}
		if err == nil || !errors.Is(err, bus.ErrConflict) {
			return planned, reserved, err
		}
		s.OnConflict()
		records, current, err := s.Store.Read(ctx, node)
		if err != nil {
			return bus.Reservation{}, 0, err
		}
		// A new snapshot: its bound pods must not be older than the records.
		snapshot = s.Cache.Snapshot()
		info, revision = snapshot.Reread(node, records), current
	}
	return bus.Reservation{}, 0, fmt.Errorf("node %s: %w", node, ErrOvertaken)
}

// plan chooses GPUs for the pod on one instant of the node and on the assumed reservations. It also returns the node
// without the pod.
func (s *Scheduler) plan(
	snapshot *cache.Snapshot, node *cache.NodeInfo, pod request.Pod, assumed map[growth.PodUID]bus.Reservation,
) (bus.Reservation, placement.Node, error) {
	if node == nil {
		return bus.Reservation{}, placement.Node{}, fmt.Errorf("%w: nothing is known about the node", ErrNoRoom)
	}
	if node.Unschedulable != "" {
		return bus.Reservation{}, placement.Node{}, fmt.Errorf("%w: %s", ErrNoRoom, node.Unschedulable)
	}
	vacant := vacated(snapshot.WithAssumed(node, assumed), pod)
	present := presentGPUs(node, pod, assumed)
	if placement.StillFits(vacant, pod.Request, present) {
		return newReservation(pod, present), vacant, nil
	}
	policy, _ := s.policy(snapshot)
	choice, status := placement.Place(vacant, pod.Request, policy)
	if !status.Fits() {
		return bus.Reservation{}, placement.Node{}, fmt.Errorf("%w: %s", ErrNoRoom, status.Reason)
	}
	return newReservation(pod, choice.GPUs), vacant, nil
}

// presentGPUs returns the GPUs that were chosen for the pod on the node earlier: the assumed ones, else those reserved on
// the bus, else those of its Binding.
func presentGPUs(node *cache.NodeInfo, pod request.Pod, assumed map[growth.PodUID]bus.Reservation) []growth.GPUShare {
	if r, ok := assumed[pod.Ref.UID]; ok {
		return r.GPUs
	}
	if r, ok := node.Reservations[pod.Ref.UID]; ok {
		return r.GPUs
	}
	if r, ok := node.Reservations[pod.Continues]; ok && pod.Continues != "" {
		return r.GPUs
	}
	if pod.Node != node.Name {
		return nil
	}
	return boundGPUs(node, pod)
}

// boundGPUs returns the GPUs of the pod's Binding.
func boundGPUs(node *cache.NodeInfo, pod request.Pod) []growth.GPUShare {
	memory, _ := pod.Request.MemoryPerGPU(node.Unit)
	bound := make([]growth.GPUShare, len(pod.GPUs))
	for i, g := range pod.GPUs {
		bound[i] = growth.GPUShare{GPU: g, Memory: memory}
	}
	return bound
}

// newReservation returns a reservation for a pod, or for the one that will continue its job.
func newReservation(pod request.Pod, gpus []growth.GPUShare) bus.Reservation {
	r := bus.Reservation{
		Pod:        pod.Ref,
		Created:    pod.Created,
		GPUs:       gpus,
		Containers: pod.Request.ContainerRequests(),
		Held:       pod.Leaves,
	}
	if r.Held {
		// The device plugin expects its containers after all others: kubelet never admits them.
		r.Created = time.Now().Add(reservations.Lifetime)
	}
	return r
}

func unavailable(err error) bool {
	return errors.Is(err, bus.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}
