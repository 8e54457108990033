package reservations

import (
	"maps"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// lag is how far behind a view may be for what is written here to be of use.
const lag = 10 * time.Second

// Own are the reservations that this replica has written and its view may not show yet. Without them a replica that binds
// pod after pod to one node, as binpack does, overtakes itself: each decision is taken on books without the one before.
//
// A reservation is written on the condition that nobody else has written to its GPUs since its basis. So for a view that
// is not older than the basis of any of them, view and Own together are the books of those GPUs as of the newest. For
// every other view Own says nothing: then the bus refuses what was decided without it.
//
// The zero value holds none. It is safe for any number of goroutines.
type Own struct {
	mu    sync.Mutex
	nodes map[growth.NodeName]*recent
	swept time.Time
}

// recent is what was written for one node.
type recent struct {
	pods map[growth.PodUID]own
	// from is the revision up to which every view has all that is not in pods any more.
	from bus.Revision
	at   time.Time
}

type own struct {
	Reserved
	at time.Time
}

// Wrote notes a reservation that was decided on what was known of the bus up to basis.
func (o *Own) Wrote(node growth.NodeName, basis bus.Revision, written Reserved) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.sweep(now)
	put(&o.nodes, node, o.nodes[node].with(basis, own{written, now}))
}

// sweep forgets what is of no use any more, now and then.
func (o *Own) sweep(now time.Time) {
	if now.Sub(o.swept) < lag {
		return
	}
	o.swept = now
	maps.DeleteFunc(o.nodes, func(_ growth.NodeName, of *recent) bool { return now.Sub(of.at) > lag })
}

func (r *recent) with(basis bus.Revision, w own) *recent {
	if r == nil {
		r = &recent{pods: map[growth.PodUID]own{}}
	}
	r.from, r.at = max(r.from, basis), w.at
	for pod, before := range r.pods {
		if before.Revision <= r.from {
			delete(r.pods, pod)
		}
	}
	r.pods[w.Pod.UID] = w
	return r
}

// Released notes that a reservation was taken back.
func (o *Own) Released(node growth.NodeName, pod growth.PodUID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if of := o.nodes[node]; of != nil {
		delete(of.pods, pod)
	}
}

// Since returns what was written for a node after what a view has seen, by pod; nothing where it does not complete the view.
func (o *Own) Since(node growth.NodeName, seen bus.Revision) map[growth.PodUID]Reserved {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.nodes[node]
	if of == nil || seen < of.from {
		return nil
	}
	since := map[growth.PodUID]Reserved{}
	for pod, w := range of.pods {
		switch {
		case w.Revision <= seen:
		case time.Since(w.at) > lag:
			return nil
		default:
			since[pod] = w.Reserved
		}
	}
	return since
}
