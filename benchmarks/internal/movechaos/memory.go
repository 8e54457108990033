package movechaos

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

// Pod is a pod that shares a GPU, as the API server has it.
type Pod struct {
	UID  growth.PodUID
	Name string
	Node growth.NodeName
	// Runs is set while kubelet runs its containers, and Ended once they have ended.
	Runs, Ended bool
}

// Memory is what the bus says about the memory of GPUs and about moves.
type Memory struct {
	reservations map[place]bus.Reservation
	allocations  map[place]bus.Allocation
	moves        map[growth.PodUID]move.Record // those that go on
}

// place is a pod on a node.
type place struct {
	Node growth.NodeName
	Pod  growth.PodUID
}

// Read returns what entries of the bus say. A record that cannot be decoded is an error: it may hold memory.
func Read(entries []bus.Entry) (Memory, error) {
	m := Memory{map[place]bus.Reservation{}, map[place]bus.Allocation{}, map[growth.PodUID]move.Record{}}
	for _, entry := range entries {
		key, err := bus.ParseKey(entry.Key)
		if err != nil {
			continue // of a later release
		}
		at := place{key.Node, key.Pod}
		switch key.Kind {
		case bus.KindReservation:
			m.reservations[at], err = bus.Decode[bus.Reservation](entry.Value)
		case bus.KindAllocation:
			m.allocations[at], err = bus.Decode[bus.Allocation](entry.Value)
		case bus.KindMove:
			var record bus.Move
			record, err = bus.Decode[bus.Move](entry.Value)
			if !record.Move.State.Final() {
				m.moves[key.Pod] = record.Move
			}
		}
		if err != nil {
			return Memory{}, fmt.Errorf("%s: %w", entry.Key, err)
		}
	}
	return m, nil
}

// Missing returns the memory without a record: that of pods that run, and that on the targets of moves.
func (m Memory) Missing(pods []Pod) (missing []string) {
	for _, p := range pods {
		at := place{p.Node, p.UID}
		_, allocated := m.allocations[at]
		reservation, reserved := m.reservations[at]
		if p.Runs && !allocated && (!reserved || reservation.Held) {
			missing = append(missing, fmt.Sprintf("pod %s runs on node %s, and no record has its memory", p.Name, p.Node))
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(m.moves)) {
		r := m.moves[uid]
		if r.To != "" && r.Wants().Target && !m.reservations[place{r.To, uid}].Held {
			missing = append(missing, fmt.Sprintf("the move of pod %s is %s, and no memory is reserved on node %s", uid, r.State, r.To))
		}
	}
	return missing
}

// Left returns the records of pods that have ended or do not exist, and of moves that have ended.
func (m Memory) Left(pods []Pod) (left []string) {
	there := map[place]bool{}
	for _, p := range pods {
		there[place{p.Node, p.UID}] = !p.Ended
		there[place{"", p.UID}] = !p.Ended && p.Node == "" // reserved, and about to be bound
	}
	for at, r := range m.reservations {
		_, moves := m.moves[at.Pod]
		needed := there[at] || there[place{"", at.Pod}]
		if r.Held {
			needed = moves
		}
		if !needed {
			left = append(left, fmt.Sprintf("a reservation of pod %s on node %s", r.Pod.Name, at.Node))
		}
	}
	for at, a := range m.allocations {
		if !there[at] {
			left = append(left, fmt.Sprintf("an allocation of pod %s on node %s", a.Pod.Name, at.Node))
		}
	}
	slices.Sort(left)
	return left
}
