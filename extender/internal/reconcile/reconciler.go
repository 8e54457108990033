package reconcile

import (
	"context"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// interval is the time between two passes.
const interval = time.Second

// Store releases reservations and deletes epochs.
type Store interface {
	Release(ctx context.Context, node growth.NodeName, pod growth.PodRef, revision bus.Revision) error
	Forget(ctx context.Context, node growth.NodeName, gpu growth.GPU, published bus.Revision) error
}

// Reserver reserves GPUs for a bound pod.
type Reserver interface {
	Reserve(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error)
}

// Cache has the current snapshot of the cluster.
type Cache interface{ Snapshot() *cache.Snapshot }

// Pods reads pods from the API server.
type Pods interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
}

// Reconciler corrects plans. It is for one goroutine.
type Reconciler struct {
	Cache    Cache
	Store    Store
	Reserver Reserver
	Assumed  *reservations.Assumed
	Pods     Pods
	Log      *slog.Logger
	// Repaired is called for every correction, with a word of the first table in doc.go.
	Repaired func(kind string)
	// Mismatched is called once for every allocation that differs from the plan, with a word of the second table.
	Mismatched func(kind string)
	// ForgetAfter is the number of consecutive passes in which a GPU must be missing before its epoch is deleted; 0 stands
	// for ten minutes.
	ForgetAfter int

	// Counts of consecutive passes in which a pod was unreserved, the GPU of an epoch was missing, and an allocation
	// differed from the plan.
	unreserved map[growth.PodUID]int
	missing    map[string]int
	mismatches map[mismatch]int
}

// Kinds returns all words of Repaired.
func Kinds() []string { return []string{"held", "orphaned", "stray", "unreserved", "overdrawn"} }

// Run reconciles until ctx ends.
func (r *Reconciler) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.Reconcile(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// Reconcile makes one pass over one snapshot.
func (r *Reconciler) Reconcile(ctx context.Context) {
	snapshot := r.Cache.Snapshot()
	if !snapshot.Synced || snapshot.Unavailable != nil {
		return
	}
	// 1. Reservations that were assumed while the bus was unavailable.
	r.writePending(ctx, snapshot)
	unreserved, mismatches := map[growth.PodUID]int{}, map[mismatch]int{}
	names := unsettled(snapshot)
	for _, name := range names {
		node := snapshot.Node(name)
		// 2. Allocations that differ from the plan.
		r.reportMismatches(ctx, snapshot, node, mismatches)
		// 3. Reservations that are not needed any more.
		r.release(ctx, snapshot, node)
		// 4. Pods without a reservation.
		r.reserve(ctx, snapshot, node, unreserved)
		// 5. GPUs that kubelet gave to other pods.
		r.relieve(ctx, snapshot, node)
	}
	r.unreserved, r.mismatches = unreserved, mismatches
	// 6. Epochs of removed GPUs.
	r.forget(ctx, snapshot, names)
}

// unsettled returns the nodes with anything to do.
func unsettled(snapshot *cache.Snapshot) []growth.NodeName {
	var names []growth.NodeName
	for name, node := range snapshot.Nodes.All() {
		if len(node.Reservations)+len(node.RemovedGPUs) > 0 || !node.Drift.Empty() || !node.Mismatch.Empty() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// gone asks the API server whether a pod was deleted. After any other error the pod counts as present.
func (r *Reconciler) gone(ctx context.Context, ref growth.PodRef, uid growth.PodUID) bool {
	pod, err := r.Pods.Pod(ctx, ref.Namespace, ref.Name)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return growth.PodUID(pod.UID) != uid
}
