package mover

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/rebalance"
)

// triedPerPod bounds the nodes that are read from the API server to find one for each pod of a gang, the best ones.
const triedPerPod = 4

// targets finds nodes for the pods of a gang.
type targets struct {
	snapshot *cache.Snapshot
	check    *checks
	policy   placement.Policy
}

// nodes returns the nodes that take pods. All pods of the gang count where they are: they are there until the new ones come.
func (t targets) nodes() map[growth.NodeName]placement.Node {
	nodes := map[growth.NodeName]placement.Node{}
	for name, info := range t.snapshot.Nodes.All() {
		if info.Unschedulable == "" {
			nodes[name] = info.Expected()
		}
	}
	return nodes
}

// offered returns the nodes on which a pod may run after the move: its own without a request, if the node is open. n is
// the number of pods that look for one.
func (t targets) offered(ctx context.Context, known *request.Pod, pod *corev1.Pod, n int) ([]growth.NodeName, error) {
	to := asked(pod)
	if to == "" || to == known.Node {
		own, err := t.check.node(ctx, known.Node)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		case closed(pod, own.node) == "":
			return []growth.NodeName{known.Node}, nil
		}
	}
	candidates := []growth.NodeName{to}
	if to == "" || to == known.Node || to == gpushare.MoveAnywhere {
		candidates = t.ranked(known)
		candidates = candidates[:min(len(candidates), n*triedPerPod)]
	}
	var offered []growth.NodeName
	for _, name := range candidates {
		on, err := t.check.node(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		case unschedulable(pod, on) == "":
			offered = append(offered, name)
		}
	}
	return offered, nil
}

// ranked returns the other nodes with GPU memory for a pod, the best first.
func (t targets) ranked(pod *request.Pod) []growth.NodeName {
	scores := map[growth.NodeName]placement.Score{}
	var names []growth.NodeName
	for name, n := range t.nodes() {
		if score, status := placement.ScoreNode(n, pod.Request, t.policy); status.Fits() && name != pod.Node {
			scores[name] = score
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b growth.NodeName) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return names
}

// crowded returns why pods that leave do not fit their targets together, apart from GPU memory.
func (t targets) crowded(ctx context.Context, plan []rebalance.Decision, pods []*corev1.Pod) (string, error) {
	taken := map[growth.NodeName]occupied{}
	for i, d := range plan {
		if d.To == d.From {
			continue
		}
		on, some := taken[d.To]
		if !some {
			var err error
			if on, err = t.check.node(ctx, d.To); err != nil {
				return "", err
			}
		}
		if why := unschedulable(pods[i], on); why != "" {
			return fmt.Sprintf("The job is not moved, because not all of its pods fit node %s: %s", d.To, why), nil
		}
		cpu, memory := recreate.Lasting(pods[i])
		on.pods, on.cpu, on.memory = on.pods+1, on.cpu+cpu, on.memory+memory
		taken[d.To] = on
	}
	return "", nil
}
