package scheduler

import (
	"context"
	"maps"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Gangs decides about pods that are placed all or none.
type Gangs interface {
	// Offer names the nodes on which a pod could be placed, and returns where it may be bound.
	Offer(pod request.Pod, nodes []growth.NodeName) gang.Room
	// Room returns where a pod may be bound.
	Room(pod request.Pod) gang.Room
}

// offer offers the nodes of a request to the pod's gang. Nodes that the pod can never use are not offered. A bound pod needs
// none, and one that continues a job has its room already, as have the others of its gang.
func (s *Scheduler) offer(pod request.Pod, snapshot *cache.Snapshot, result FilterResult) gang.Room {
	if s.Gangs == nil || pod.Gang.Name == "" || pod.Invalid != nil || pod.Node != "" || pod.Continues != "" {
		return gang.Room{}
	}
	var nodes []growth.NodeName
	for i, name := range result.Nodes {
		// The name in the request is valid until the response only.
		if node := snapshot.Node(growth.NodeName(name)); node != nil && (result.Statuses[i] == nil || !result.Statuses[i].Unresolvable) {
			nodes = append(nodes, node.Name)
		}
	}
	return s.Gangs.Offer(pod, nodes)
}

// within limits a result to the room of a pod. A pod that waits for its gang must not evict others to get in, unless it fits
// nowhere itself.
func within(result FilterResult, room gang.Room) {
	if room.Wait != "" && len(result.Fit()) == 0 {
		return
	}
	for i, name := range result.Nodes {
		switch {
		case room.Wait != "":
			result.Statuses[i] = &placement.Status{Reason: room.Wait, Unresolvable: true}
		case room.Node != "" && room.Node != growth.NodeName(name):
			result.Statuses[i] = &placement.Status{Reason: "the pod has its room on node " + string(room.Node), Unresolvable: true}
		}
	}
}

// barred returns why a pod may not be bound to a node for the sake of its gang, or "".
func (s *Scheduler) barred(pod request.Pod, node growth.NodeName) string {
	if s.Gangs == nil || pod.Gang.Name == "" || pod.Continues != "" {
		return ""
	}
	room := s.Gangs.Room(pod)
	if room.Wait == "" && room.Node != "" && room.Node != node {
		return "its room is on node " + string(room.Node)
	}
	return room.Wait
}

// Current returns a node with all reservations, those included that the snapshot does not show yet, and the reservations
// themselves. It returns false for a node that takes no pods.
func (s *Scheduler) Current(name growth.NodeName) (placement.Node, map[growth.PodUID]bus.Reservation, bool) {
	snapshot := s.Cache.Snapshot()
	info := snapshot.Node(name)
	if info == nil || info.Unschedulable != "" {
		return placement.Node{}, nil, false
	}
	assumed := s.Assumed.On(name, snapshot.Revision).All()
	reserved := make(map[growth.PodUID]bus.Reservation, len(info.Reservations)+len(assumed))
	for pod, r := range info.Reservations {
		reserved[pod] = r.Reservation
	}
	maps.Copy(reserved, assumed)
	return snapshot.WithAssumed(info, assumed), reserved, true
}

// Release releases the reservation of a pod that is not to be bound to the node. A Bind at the same time wins: it writes the
// reservation again.
func (s *Scheduler) Release(ctx context.Context, pod growth.PodRef, node growth.NodeName) {
	snapshot := s.Cache.Snapshot()
	written, newer := s.Assumed.On(node, snapshot.Revision).Written[pod.UID]
	if info := snapshot.Node(node); !newer && info != nil {
		written = info.Reservations[pod.UID]
	}
	s.undo(ctx, pod, node, written.Revision)
}

// PlacementPolicy returns the policy that scores nodes at present.
func (s *Scheduler) PlacementPolicy() placement.Policy {
	policy, _ := s.policy(s.Cache.Snapshot())
	return policy
}
