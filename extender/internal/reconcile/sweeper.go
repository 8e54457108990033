package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// every is how often the snapshot is looked through.
const every = time.Second

// Ledger gives back what is not needed any more.
type Ledger interface {
	Release(ctx context.Context, node growth.NodeName, pod growth.PodRef, revision bus.Revision) error
	Forget(ctx context.Context, node growth.NodeName, gpu growth.GPU, published bus.Revision) error
}

// Reserver plans for a pod that has its node.
type Reserver interface {
	Reserve(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error)
}

// View shows the cluster as it is now.
type View interface{ Snapshot() *cache.Snapshot }

// Pods reads pods afresh.
type Pods interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
}

// Sweeper sweeps. One goroutine uses it.
type Sweeper struct {
	View     View
	Ledger   Ledger
	Reserver Reserver
	Held     *reservations.Held
	Pods     Pods
	Log      *slog.Logger
	// Repaired is told of every repair of drift, by its word in doc.go.
	Repaired func(kind string)
	// Mismatched is told of every allocation that is not the one that was meant, once, by its word in doc.go.
	Mismatched func(kind string)
	// ForgetAfter is for how many sweeps on end a GPU must have been gone before its epoch goes; 0 for ten minutes.
	ForgetAfter int

	// waiting counts in how many sweeps on end a pod was unreserved, missing in how many the GPU of an epoch was.
	waiting map[growth.PodUID]int
	missing map[string]int
	// odd counts in how many sweeps on end an allocation was not the one that was meant.
	odd map[oddity]int
}

// Kinds are all the words that Repaired is told.
func Kinds() []string { return []string{"held", "orphaned", "stray", "unreserved", "overdrawn"} }

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.Once(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// Once looks through one snapshot.
func (s *Sweeper) Once(ctx context.Context) {
	snapshot := s.View.Snapshot()
	if !snapshot.Synced || snapshot.Away != nil {
		return
	}
	// 1. What was decided while the bus was away.
	s.write(ctx, snapshot)
	waiting, odd, names := map[growth.PodUID]int{}, map[oddity]int{}, unsettled(snapshot)
	for _, name := range names {
		node := snapshot.Node(name)
		// 2. Allocations that are not as was meant.
		s.match(ctx, snapshot, node, odd)
		// 3. Reservations that nobody needs any more.
		s.release(ctx, snapshot, node)
		// 4. Pods that nothing is kept for.
		s.reserve(ctx, snapshot, node, waiting)
		// 5. GPUs that kubelet gave to others.
		s.relieve(ctx, snapshot, node)
	}
	s.waiting, s.odd = waiting, odd
	// 6. Epochs of GPUs that are gone.
	s.forget(ctx, snapshot, names)
}

// unsettled lists the nodes with anything to look at.
func unsettled(snapshot *cache.Snapshot) []growth.NodeName {
	var names []growth.NodeName
	for name, node := range snapshot.Nodes.All() {
		if len(node.Reservations)+len(node.Gone) > 0 || !node.Drift.Empty() || !node.Mismatch.Empty() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *Sweeper) release(ctx context.Context, snapshot *cache.Snapshot, node *cache.Node) {
	for _, uid := range slices.Sorted(maps.Keys(node.Reservations)) {
		reserved := node.Reservations[uid]
		kind, reason := s.served(ctx, snapshot, node, uid, reserved)
		if reason == "" {
			continue
		}
		ref := growth.PodRef{Namespace: reserved.Pod.Namespace, Name: reserved.Pod.Name, UID: uid}
		err := s.Ledger.Release(ctx, node.Name, ref, reserved.Revision)
		switch {
		case errors.Is(err, bus.ErrConflict): // written anew, or another replica was faster
		case err != nil:
			s.Log.Warn("a reservation could not be given back", "pod", ref, "node", node.Name, "reason", err)
		default:
			if kind != "" {
				s.Repaired(kind)
			}
			s.Log.Info("reservation given back", "pod", ref, "node", node.Name, "reason", reason)
		}
	}
}

// served says why a reservation is needed no more, or nothing, and which kind of drift that is, if it is one.
func (s *Sweeper) served(ctx context.Context, snapshot *cache.Snapshot, node *cache.Node, uid growth.PodUID, r reservations.Reserved) (kind, reason string) {
	pod, known := snapshot.Pods.Get(uid)
	allocation, allocated := node.Allocations[uid]
	switch {
	case !known && s.gone(ctx, r.Pod, uid):
		return "orphaned", "its pod is gone"
	case !known:
		return "", ""
	case pod.Ended:
		return "orphaned", "its pod has ended"
	case pod.Node != "" && pod.Node != node.Name:
		return "orphaned", "its pod is on another node"
	case allocated && placement.FullyAllocated(allocation, r.Reservation) && slices.Contains(node.Drift.Misplaced, uid):
		return "stray", "kubelet has allocated elsewhere"
	case allocated && placement.FullyAllocated(allocation, r.Reservation):
		return "", "kubelet has allocated"
	}
	return "", ""
}

// gone asks the API server. In doubt a pod is there.
func (s *Sweeper) gone(ctx context.Context, ref growth.PodRef, uid growth.PodUID) bool {
	pod, err := s.Pods.Pod(ctx, ref.Namespace, ref.Name)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return growth.PodUID(pod.UID) != uid
}
