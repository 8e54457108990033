package scheduler

import (
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

const (
	// maxNominations bounds the number of nominations. The oldest one is dropped first.
	maxNominations = 1024
	// maxNominationAge bounds the age of a nomination. It exceeds the usual termination grace period of victims.
	maxNominationAge = 30 * time.Minute
)

// Nominations are the nodes on which Preempt has made room for pods. The zero value is empty. It is safe for concurrent
// use.
type Nominations struct {
	mu    sync.Mutex
	byPod map[growth.PodUID]nomination
	order []growth.PodUID // oldest first
}

// nomination is a node, and the victims that are evicted there for a pod.
type nomination struct {
	node    string
	victims []growth.PodUID
	at      time.Time
}

// add nominates a node for a pod, and replaces the pod's earlier nomination.
func (n *Nominations) add(pod growth.PodUID, nominated nomination) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.remove(pod)
	if len(n.order) == maxNominations {
		n.remove(n.order[0])
	}
	if n.byPod == nil {
		n.byPod = map[growth.PodUID]nomination{}
	}
	n.byPod[pod] = nominated
	n.order = append(n.order, pod)
}

// get returns a pod's nomination, the zero value if there is none or if it is too old.
func (n *Nominations) get(pod growth.PodUID, now time.Time) nomination {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.order) > 0 && now.Sub(n.byPod[n.order[0]].at) > maxNominationAge {
		n.remove(n.order[0])
	}
	return n.byPod[pod]
}

// delete removes the nomination of a pod, which is bound.
func (n *Nominations) delete(pod growth.PodUID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.remove(pod)
}

func (n *Nominations) remove(pod growth.PodUID) {
	if _, ok := n.byPod[pod]; !ok {
		return
	}
	delete(n.byPod, pod)
	at := slices.Index(n.order, pod)
	n.order = slices.Delete(n.order, at, at+1)
}

// fits reports whether the pod fits the nominated node without the victims. The scheduler retries the pod when the victims
// are gone from the API server, possibly before the records show it. If Filter then called the node full, the pod would
// wait for the next event, maybe minutes. Bind ignores nominations: if there is no room yet it says so, and is retried
// after a second.
func (n nomination) fits(node *cache.NodeInfo, pod request.Pod) bool {
	if node == nil || n.node != string(node.Name) {
		return false
	}
	without, status := schedulable(node, pod)
	if !status.Fits() {
		return false
	}
	for _, victim := range n.victims {
		without = without.Without(victim)
	}
	return placement.Fit(without, pod.Request).Fits()
}
