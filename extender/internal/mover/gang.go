package mover

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/rebalance"
)

// membersOf returns the pods that move with a pod: the pod itself, or all pods of its gang that have not ended, by name.
func membersOf(snapshot *cache.Snapshot, pod *request.Pod) []*request.Pod {
	if pod.Gang.Name == "" {
		return []*request.Pod{pod}
	}
	var members []*request.Pod
	for _, other := range snapshot.Pods.All() {
		if other.Gang.Name == pod.Gang.Name && !other.Ended {
			members = append(members, other)
		}
	}
	slices.SortFunc(members, func(a, b *request.Pod) int { return cmp.Compare(a.Ref.Name, b.Ref.Name) })
	return members
}

// planTogether returns where each pod of a gang goes, or why the gang is not moved. A pod without a request starts again where it
// is, if it may.
func (m *Mover) planTogether(
	ctx context.Context, snapshot *cache.Snapshot, members []*request.Pod, pods []*corev1.Pod,
) ([]rebalance.Decision, string, error) {
	if why, err := m.inseparable(ctx, members, pods); why != "" || err != nil {
		return nil, why, err
	}
	t := targets{snapshot: snapshot, check: &checks{client: m.Client}, policy: m.policy(snapshot)}
	var leaving []gang.Pod
	plan := make([]rebalance.Decision, len(pods))
	for i, pod := range pods {
		plan[i] = rebalance.Decision{Pod: members[i].Ref, From: members[i].Node, Cause: move.Requested}
		offered, err := t.offered(ctx, members[i], pod, len(pods))
		if err != nil {
			return nil, "", err
		}
		if slices.Equal(offered, []growth.NodeName{members[i].Node}) {
			plan[i].To = members[i].Node
			continue
		}
		p := gang.Pod{UID: members[i].Ref.UID, Request: members[i].Request, Nodes: offered}
		if len(offered) == 1 {
			p.Node = offered[0] // it comes before the pods that have a choice
		}
		leaving = append(leaving, p)
	}
	if len(leaving) == 0 {
		return nil, "The job is where its user wants it already", nil
	}
	room := gang.Assign(leaving, t.nodes(), t.policy)
	for i := range plan {
		if plan[i].To == "" {
			plan[i].To = room[plan[i].Pod.UID]
		}
		if plan[i].To == "" {
			return nil, m.roomless(pods[i]), nil
		}
	}
	why, err := t.crowded(ctx, plan, pods)
	if why != "" || err != nil {
		return nil, why, err
	}
	moving := make([]movingPod, len(pods))
	for i, pod := range pods {
		moving[i] = movingPod{pod: pod, to: plan[i].To}
	}
	why, err = m.refusalByCheckpoint(ctx, t.check, moving)
	return plan, why, err
}

// roomless says that a pod of a gang has no node to go to.
func (m *Mover) roomless(pod *corev1.Pod) string {
	why := "no other node has room for it and permits it"
	if to := asked(pod); to != "" && to != gpushare.MoveAnywhere {
		why = fmt.Sprintf("node %s has no room for it, or does not permit it", to)
		if unfit := m.Unfit(pod, to); unfit != "" {
			why = unfit
		}
	}
	return fmt.Sprintf("The job is not moved, because all of its pods move or none does, and of pod %s: %s", pod.Name, why)
}

// inseparable returns why the pods of a gang cannot move to any nodes; "" if they can.
func (m *Mover) inseparable(ctx context.Context, members []*request.Pod, pods []*corev1.Pod) (string, error) {
	if len(pods) > move.MaxPods {
		return fmt.Sprintf("The job is not moved, because it has %d pods: jobs with more than %d pods are not", len(pods), move.MaxPods), nil
	}
	jobs, names := map[string]bool{}, map[string]bool{}
	for i, pod := range pods {
		why, bare := unable(pod), metav1.GetControllerOf(pod) == nil
		switch {
		case members[i].Node == "":
			why = "The job is not moved, because its pod " + pod.Name + " has no node yet"
		case pod.DeletionTimestamp != nil:
			why = "The job is not moved, because its pod " + pod.Name + " is being deleted"
		case jobs[members[i].Identity().Job()]:
			why = "The job is not moved, because the pods of its owner have no numbers: pod " + pod.Name + " could continue as any other one"
		case bare && names[stem(pod.Name)]:
			why = "The job is not moved, because the names of its pods are too long: the copies of two of them would have the same name"
		}
		if why != "" {
			return why, nil
		}
		jobs[members[i].Identity().Job()] = true
		names[stem(pod.Name)] = bare
	}
	if budget := m.Protected(pods...); budget != "" {
		return fmt.Sprintf("The job is not moved, because the disruption budget %s does not permit the eviction of all %d pods", budget, len(pods)), nil
	}
	return m.others(ctx, pods)
}
