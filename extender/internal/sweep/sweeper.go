package sweep

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/extender/internal/ledger"
	"github.com/trellis-gpu/trellis/extender/internal/view"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// every is how often the snapshot is looked through.
const every = time.Second

// Ledger gives reservations back.
type Ledger interface {
	Release(ctx context.Context, node growth.NodeName, pod growth.PodRef, revision bus.Revision) error
}

// View shows the cluster as it is now.
type View interface{ Snapshot() *view.Snapshot }

// Pods reads pods afresh.
type Pods interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
}

// Sweeper sweeps.
type Sweeper struct {
	View   View
	Ledger Ledger
	Pods   Pods
	Log    *slog.Logger
}

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
	for name, node := range snapshot.Nodes.All() {
		for uid, reserved := range node.Reservations {
			reason := s.served(ctx, snapshot, name, uid, reserved)
			if reason == "" {
				continue
			}
			err := s.Ledger.Release(ctx, name, growth.PodRef{Namespace: reserved.Pod.Namespace, Name: reserved.Pod.Name, UID: uid}, reserved.Revision)
			switch {
			case errors.Is(err, bus.ErrConflict): // written anew, or another replica was faster
			case err != nil:
				s.Log.Warn("a reservation could not be given back", "pod", reserved.Pod, "node", name, "reason", err)
			default:
				s.Log.Info("reservation given back", "pod", reserved.Pod, "node", name, "reason", reason)
			}
		}
	}
}

// served says why a reservation is needed no more, or nothing.
func (s *Sweeper) served(ctx context.Context, snapshot *view.Snapshot, node growth.NodeName, uid growth.PodUID, r ledger.Reserved) string {
	pod, known := snapshot.Pods.Get(uid)
	allocation, allocated := snapshot.Node(node).Allocations[uid]
	switch {
	case !known && s.gone(ctx, r.Pod, uid):
		return "its pod is gone"
	case !known:
		return ""
	case pod.Ended:
		return "its pod has ended"
	case pod.Node != "" && pod.Node != node:
		return "its pod is on another node"
	case allocated && covers(allocation, r.Reservation):
		return "kubelet has allocated"
	}
	return ""
}

// gone asks the API server. In doubt a pod is there.
func (s *Sweeper) gone(ctx context.Context, ref growth.PodRef, uid growth.PodUID) bool {
	pod, err := s.Pods.Pod(ctx, ref.Namespace, ref.Name)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return growth.PodUID(pod.UID) != uid
}

// covers tells whether every container of a reservation has its allocation.
func covers(a bus.Allocation, r bus.Reservation) bool {
	return !slices.ContainsFunc(r.Containers, func(wanted bus.ContainerRequest) bool {
		return !slices.ContainsFunc(a.Containers, func(c bus.ContainerAllocation) bool { return c.Name == wanted.Name })
	})
}
