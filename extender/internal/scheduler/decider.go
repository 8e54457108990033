package scheduler

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// View shows the cluster as it is now.
type View interface{ Snapshot() *cache.Snapshot }

// Ledger reads and writes a node's books.
type Ledger interface {
	Read(ctx context.Context, node growth.NodeName) (*reservations.Books, bus.Revision, error)
	Reserve(ctx context.Context, on reservations.Basis, r bus.Reservation) (bus.Revision, error)
	Release(ctx context.Context, node growth.NodeName, pod growth.PodRef, revision bus.Revision) error
}

// API is the part of the API server that Bind needs.
type API interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Bind(ctx context.Context, binding *corev1.Binding) error
}

// Decider decides.
type Decider struct {
	View View
	// Policy rates places; PolicyName is what the operator calls it.
	Policy     placement.Policy
	PolicyName string
	Ledger     Ledger
	// Held are the reservations that wait for a bus that is away.
	Held    *reservations.Held
	API     API
	Budgets Budgets
	// Resource is the extended resource that pods ask for.
	Resource corev1.ResourceName
	Log      *slog.Logger
	// Conflicted is told of every decision that was overtaken.
	Conflicted func()
	// Verdicts remember what was found out about nodes.
	Verdicts cache.Verdicts
	// Decisions are the last ones, for Explain.
	Decisions Diary

	own     reservations.Own
	misfits slates[*placement.Status]
	scores  slates[placement.Score]
	points  slates[int8]
}

func fit(here *cache.Node, pod request.Pod) placement.Status {
	n, misfit := site(here, pod)
	if !misfit.Fits() {
		return misfit
	}
	return placement.Fit(n, pod.Request)
}

// site is the node as it would be without the pod, or what stands against placing the pod there at all.
func site(here *cache.Node, pod request.Pod) (placement.Node, placement.Status) {
	switch {
	case pod.Nonsense != nil:
		return placement.Node{}, placement.Status{Reason: pod.Nonsense.Error(), Unresolvable: true}
	case here == nil:
		return placement.Node{}, placement.Status{Reason: "nothing is known about the node yet", Unresolvable: true}
	case here.Obstacle != "":
		return placement.Node{}, placement.Status{Reason: here.Obstacle, Unresolvable: true}
	}
	return here.Expected().Without(pod.Ref.UID), placement.Status{}
}

// place is where on a node a pod would go, and how good that is among all that were compared.
type place struct {
	choice placement.Choice
	misfit placement.Status
	points int64
}

// places compares the nodes.
func places(nodes []*cache.Node, pod request.Pod, policy placement.Policy) []place {
	found := make([]place, len(nodes))
	var scale placement.Normalizer
	for i, here := range nodes {
		n, misfit := site(here, pod)
		if misfit.Fits() {
			found[i].choice, misfit = placement.Place(n, pod.Request, policy)
		}
		if found[i].misfit = misfit; misfit.Fits() {
			scale.Add(found[i].choice.Score)
		}
	}
	for i, p := range found {
		if p.misfit.Fits() {
			found[i].points = scale.Points(p.choice.Score)
		}
	}
	return found
}
