package reservations

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// MaxPending is the number of reservations that may wait for the bus.
	MaxPending = 1024
	// maxLag is how far a snapshot may lag for the written reservations to complete it.
	maxLag = 10 * time.Second
)

// ErrFull means that too many reservations wait for the bus.
var ErrFull = errors.New("no more reservations are held in memory")

// Assumed are the reservations that this replica has decided and that its snapshot may not show yet.
//
// A pending reservation could not be written, because the bus is unavailable. Other replicas do not know of it until the
// pod is bound and its annotation names the GPUs.
//
// A written reservation is on the bus. A replica that binds pod after pod to one node, as binpack does, would otherwise
// decide on records without its previous decision, and conflict with itself. A reservation is only written if no other
// replica has written to its GPUs since its basis. Therefore a snapshot that is not older than any basis is complete, as
// far as those GPUs are concerned, together with the written reservations. For any older snapshot there is no such
// completion: On returns no written reservations, and the bus refuses what was decided without them.
//
// The zero value is empty. It is safe for concurrent use.
type Assumed struct {
	mu      sync.Mutex
	pending map[growth.PodUID]Pending
	written map[growth.NodeName]*written
	pruned  time.Time
}

// Pending is a reservation that waits for the bus.
type Pending struct {
	Node growth.NodeName
	bus.Reservation
}

// OnNode are the assumed reservations of a node, by pod.
type OnNode struct {
	Pending map[growth.PodUID]bus.Reservation
	// Written are newer than the snapshot.
	Written map[growth.PodUID]Versioned
}

// All returns one reservation for each pod: the pending one if it has both.
func (n OnNode) All() map[growth.PodUID]bus.Reservation {
	all := make(map[growth.PodUID]bus.Reservation, len(n.Pending)+len(n.Written))
	for pod, r := range n.Written {
		all[pod] = r.Reservation
	}
	maps.Copy(all, n.Pending)
	return all
}

// On returns the assumed reservations that a snapshot of the given revision does not show.
func (a *Assumed) On(node growth.NodeName, snapshot bus.Revision) OnNode {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.on(node, snapshot)
}

func (a *Assumed) on(node growth.NodeName, snapshot bus.Revision) OnNode {
	pending := map[growth.PodUID]bus.Reservation{}
	for pod, p := range a.pending {
		if p.Node == node {
			pending[pod] = p.Reservation
		}
	}
	return OnNode{Pending: pending, Written: a.written[node].since(snapshot)}
}

// Assume decides on a pending reservation and adds it, in one step. decide gets a function like On.
func (a *Assumed) Assume(node growth.NodeName, decide func(on func(bus.Revision) OnNode) (bus.Reservation, error)) (bus.Reservation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	decided, err := decide(func(snapshot bus.Revision) OnNode { return a.on(node, snapshot) })
	if err != nil {
		return bus.Reservation{}, err
	}
	_, replaces := a.pending[decided.Pod.UID]
	if !replaces && len(a.pending) >= MaxPending {
		return bus.Reservation{}, fmt.Errorf("%w: %d wait for the bus already", ErrFull, len(a.pending))
	}
	set(&a.pending, decided.Pod.UID, Pending{node, decided})
	return decided, nil
}

// ForgetPending removes the pending reservation of a pod on a node.
func (a *Assumed) ForgetPending(pod growth.PodUID, node growth.NodeName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[pod].Node == node {
		delete(a.pending, pod)
	}
}

// AllPending returns the pending reservations by pod.
func (a *Assumed) AllPending() map[growth.PodUID]Pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.pending)
}

// PendingCount returns the number of pending reservations.
func (a *Assumed) PendingCount() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending)
}

// AddWritten adds a reservation that is on the bus. basis is the revision of the snapshot it was decided on.
func (a *Assumed) AddWritten(node growth.NodeName, basis bus.Revision, r Versioned) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.prune(now)
	if a.written[node] == nil {
		set(&a.written, node, &written{pods: map[growth.PodUID]timed{}})
	}
	a.written[node].add(basis, timed{r, now})
}

// ForgetWritten removes a reservation that was released.
func (a *Assumed) ForgetWritten(node growth.NodeName, pod growth.PodUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.written[node]; w != nil {
		delete(w.pods, pod)
	}
}

// prune removes nodes whose written reservations are too old to complete a snapshot, once per maxLag.
func (a *Assumed) prune(now time.Time) {
	if now.Sub(a.pruned) < maxLag {
		return
	}
	a.pruned = now
	maps.DeleteFunc(a.written, func(_ growth.NodeName, w *written) bool { return now.Sub(w.updated) > maxLag })
}
