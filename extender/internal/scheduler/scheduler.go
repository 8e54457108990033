package scheduler

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/fastpath"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Cache has the current snapshot of the cluster.
type Cache interface{ Snapshot() *cache.Snapshot }

// Store reads a node's records and writes reservations.
type Store interface {
	Read(ctx context.Context, node growth.NodeName) (*reservations.NodeRecords, bus.Revision, error)
	Reserve(ctx context.Context, basis reservations.Basis, r bus.Reservation) (bus.Revision, error)
	Release(ctx context.Context, node growth.NodeName, pod growth.PodRef, revision bus.Revision) error
	Renew(ctx context.Context, node growth.NodeName, r reservations.Versioned) error
}

// API is the part of the API server that Bind needs.
type API interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Bind(ctx context.Context, binding *corev1.Binding) error
}

// Scheduler decides. It is safe for concurrent use.
type Scheduler struct {
	Cache Cache
	// Policy scores GPUs, by the model of the snapshot if it predicts. PolicyName is the value of --policy.
	Policy     placement.Policy
	PolicyName string
	Store      Store
	// Assumed are the reservations that the snapshot does not show yet.
	Assumed *reservations.Assumed
	API     API
	Budgets Budgets
	// Resource is the extended resource that pods request.
	Resource corev1.ResourceName
	Log      *slog.Logger
	// Place returns where a pod that continues a job may run; nil if no job moves.
	Place func(move.Identity) move.Place
	// Gangs places the pods of gangs; nil if all pods are placed one by one.
	Gangs Gangs
	// Confirm is Place by what is true now, for Bind.
	Confirm func(context.Context, growth.PodRef) (move.Place, error)
	// OnConflict is called for every decision that lost against another replica's.
	OnConflict func()

	nominations Nominations
	decisions   DecisionLog
	verdicts    fastpath.VerdictCache
}

// schedulable returns the node without the pod, or why the pod cannot be placed there at all.
func schedulable(node *cache.NodeInfo, pod request.Pod) (placement.Node, placement.Status) {
	switch {
	case pod.Invalid != nil:
		return placement.Node{}, placement.Status{Reason: pod.Invalid.Error(), Unresolvable: true}
	case node == nil:
		return placement.Node{}, placement.Status{Reason: "nothing is known about the node yet", Unresolvable: true}
	case node.Unschedulable != "":
		return placement.Node{}, placement.Status{Reason: node.Unschedulable, Unresolvable: true}
	}
	return vacated(node.Expected(), pod), placement.Status{}
}

// vacated returns the node without the pod, and without the one whose job it continues.
func vacated(n placement.Node, pod request.Pod) placement.Node {
	n = n.Without(pod.Ref.UID)
	if pod.Continues != "" {
		n = n.Without(pod.Continues)
	}
	return n
}

// fit reports whether the pod fits the node.
func fit(node *cache.NodeInfo, pod request.Pod) placement.Status {
	n, status := schedulable(node, pod)
	if !status.Fits() {
		return status
	}
	return placement.Fit(n, pod.Request)
}

// score scores the best GPUs of the node for the pod.
func score(node *cache.NodeInfo, pod request.Pod, policy placement.Policy) (placement.Score, placement.Status) {
	n, status := schedulable(node, pod)
	if !status.Fits() {
		return 0, status
	}
	return placement.ScoreNode(n, pod.Request, policy)
}

// policy returns how GPUs are scored on a snapshot, and whether the kinds of jobs count. While the bus is unavailable the
// samples of jobs are old. Only memory counts then, and an empty GPU is best: no job is there that the pod could slow down.
func (s *Scheduler) policy(snapshot *cache.Snapshot) (p placement.Policy, byKind bool) {
	switch s.Policy.(type) {
	case placement.Binpack, placement.Spread:
		return s.Policy, false
	}
	if snapshot.Unavailable != nil {
		return placement.Spread{}, false
	}
	return placement.Predicting(s.Policy, snapshot.Model(), snapshot.Stay)
}

// kind returns the kind of a pod's job. The snapshot mostly has it, since the API server reports a pod before kube-scheduler
// places it.
func kind(snapshot *cache.Snapshot, object *corev1.Pod) interference.Kind {
	if pod, known := snapshot.Pods.Get(growth.PodUID(object.UID)); known {
		return pod.Request.Kind
	}
	return jobkind.Of(object)
}
