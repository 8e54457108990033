package scheduler

import (
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/fastpath"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Bounds of the decision log. A considered node costs one number, and some KiB if no current snapshot has its version any
// more. In a large cluster whose jobs all report between two decisions, that is every node of every decision.
const (
	maxDecisions   = 1024
	maxConsidered  = 1 << 19
	maxOldVersions = 1 << 14
)

// DecisionLog keeps the latest decision about each recent pod. It keeps the immutable nodes that the decision was based on
// instead of text: an explanation costs nothing until it is requested. Only Explain reads it. The zero value is empty. It
// is safe for concurrent use.
type DecisionLog struct {
	mu      sync.Mutex
	entries []logEntry // oldest first
	byPod   map[growth.PodUID]*decision
	// considered and old are the sums over entries that are bounded.
	considered, old int
}

// logEntry is a decision, and a bound of the versions that it keeps in memory and the next entry does not.
type logEntry struct {
	*decision
	old int
}

// selection is the nodes of a request.
type selection = fastpath.Selection[growth.NodeName, cache.NodeInfo]

// decision is the latest attempt to place a pod. It is immutable.
type decision struct {
	pod request.Pod
	at  time.Time
	// policy scored the pod, with the model of that time.
	policy                placement.Policy
	filtered, prioritized selection
	bound                 *bindResult
}

// bindResult is the result of a Bind.
type bindResult struct {
	at   time.Time
	node growth.NodeName
	gpus []growth.GPUShare
	err  error
}

func (d *decision) considered() int { return d.filtered.Len() + d.prioritized.Len() }

// versions is the number of versions of nodes that had existed at the latest request of the decision.
func (d *decision) versions() uint64 {
	return max(d.filtered.Index().Versions(), d.prioritized.Index().Versions())
}

// filtered starts a decision: every attempt starts with Filter.
func (l *DecisionLog) filtered(e *evaluator, nodes selection) {
	l.put(&decision{
		pod:      e.pod,
		at:       time.Now(),
		policy:   e.question.Policy,
		filtered: nodes,
	})
}

func (l *DecisionLog) prioritized(e *evaluator, nodes selection) {
	next := decision{pod: e.pod, at: time.Now()}
	if last := l.of(e.pod.Ref.UID); last != nil {
		next = *last
	}
	next.policy, next.prioritized = e.question.Policy, nodes
	l.put(&next)
}

func (l *DecisionLog) bound(pod growth.PodUID, result bindResult) {
	last := l.of(pod)
	if last == nil {
		return // another replica answered Filter
	}
	next := *last
	next.bound = &result
	l.put(&next)
}

// put replaces the pod's decision, and drops the oldest decisions beyond the bounds, never the latest.
func (l *DecisionLog) put(next *decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.byPod[next.pod.Ref.UID]; before != nil {
		at := len(l.entries) - 1
		for l.entries[at].decision != before { // mostly one of the latest
			at--
		}
		l.remove(at)
	}
	if l.byPod == nil {
		l.byPod = map[growth.PodUID]*decision{}
	}
	l.entries = append(l.entries, logEntry{decision: next})
	l.byPod[next.pod.Ref.UID] = next
	l.considered += next.considered()
	l.countOld(len(l.entries) - 2)
	for len(l.entries) > 1 && (len(l.entries) > maxDecisions || l.considered > maxConsidered || l.old > maxOldVersions) {
		l.remove(0)
	}
}

func (l *DecisionLog) remove(at int) {
	removed := l.entries[at]
	delete(l.byPod, removed.pod.Ref.UID)
	l.considered -= removed.considered()
	l.old -= removed.old
	l.entries = slices.Delete(l.entries, at, at+1)
	l.countOld(at - 1)
}

// countOld updates the number of old versions that an entry keeps: the versions made between it and the next entry, at
// most as many as it has nodes.
func (l *DecisionLog) countOld(at int) {
	if at < 0 {
		return
	}
	e := &l.entries[at]
	l.old -= e.old
	e.old = 0
	if at+1 < len(l.entries) {
		made, later := e.versions(), l.entries[at+1].versions()
		nodes := e.filtered.Index().Len() + e.prioritized.Index().Len()
		e.old = int(min(uint64(nodes), max(made, later)-min(made, later)))
	}
	l.old += e.old
}

// of returns the decision about a pod, nil if there is none.
func (l *DecisionLog) of(pod growth.PodUID) *decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byPod[pod]
}

// named returns the latest decision about a pod with a name, nil if there is none.
func (l *DecisionLog) named(namespace, name string) *decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.entries) {
		if e.pod.Ref.Namespace == namespace && e.pod.Ref.Name == name {
			return e.decision
		}
	}
	return nil
}
