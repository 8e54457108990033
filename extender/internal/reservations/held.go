package reservations

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// MostHeld is how many reservations are held in memory while the bus is away.
const MostHeld = 1024

// ErrFull means that no more reservations are held in memory.
var ErrFull = errors.New("no more reservations are held in memory")

// Held are the reservations that could not be written yet: optimistic, because other replicas do not know of them until
// the pod is bound and its annotation tells. The zero value holds none. It is safe for any number of goroutines.
type Held struct {
	mu   sync.Mutex
	pods map[growth.PodUID]Waiting
}

// Waiting is a reservation that waits for the bus.
type Waiting struct {
	Node growth.NodeName
	bus.Reservation
}

// Hold decides on a reservation with all that are held on the node in view, and holds it, as one step.
func (h *Held) Hold(node growth.NodeName, decide func(held map[growth.PodUID]bus.Reservation) (bus.Reservation, error)) (bus.Reservation, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	decided, err := decide(h.on(node))
	if err != nil {
		return bus.Reservation{}, err
	}
	if _, again := h.pods[decided.Pod.UID]; !again && len(h.pods) >= MostHeld {
		return bus.Reservation{}, fmt.Errorf("%w: %d wait for the bus already", ErrFull, len(h.pods))
	}
	if h.pods == nil {
		h.pods = map[growth.PodUID]Waiting{}
	}
	h.pods[decided.Pod.UID] = Waiting{node, decided}
	return decided, nil
}

// On returns what is held on a node, by pod.
func (h *Held) On(node growth.NodeName) map[growth.PodUID]bus.Reservation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.on(node)
}

func (h *Held) on(node growth.NodeName) map[growth.PodUID]bus.Reservation {
	on := map[growth.PodUID]bus.Reservation{}
	for pod, waiting := range h.pods {
		if waiting.Node == node {
			on[pod] = waiting.Reservation
		}
	}
	return on
}

// Drop forgets what is held for a pod on a node.
func (h *Held) Drop(pod growth.PodUID, node growth.NodeName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pods[pod].Node == node {
		delete(h.pods, pod)
	}
}

// All returns what is held, by pod.
func (h *Held) All() map[growth.PodUID]Waiting {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.pods)
}

// Len is how many are held.
func (h *Held) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pods)
}
