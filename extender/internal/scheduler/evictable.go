package scheduler

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/preempt"
)

// Budgets lists disruption budgets.
type Budgets interface {
	In(namespace string) ([]*policyv1.PodDisruptionBudget, error)
}

// evictable returns the jobs that hold GPU memory on the node and have a lower priority than the pod, and how many
// disruptions their budgets allow.
func (s *Scheduler) evictable(snapshot *cache.Snapshot, node *cache.NodeInfo, pod request.Pod) ([]preempt.Job, preempt.DisruptionsAllowed, error) {
	var jobs []preempt.Job
	allowed := preempt.DisruptionsAllowed{}
	seen := map[growth.PodUID]bool{}
	for _, g := range node.GPUs {
		for _, r := range g.Residents {
			victim, known := snapshot.Pods.Get(r.Pod)
			if seen[r.Pod] || !known || victim.Node != node.Name || victim.Priority >= pod.Priority {
				continue
			}
			seen[r.Pod] = true
			budgets, err := s.budgetsOf(*victim, selectsVictim, allowed)
			if err != nil {
				return nil, nil, err
			}
			jobs = append(jobs, preempt.Job{
				Pod:      r.Pod,
				Priority: victim.Priority,
				Growth:   remainingGrowth(snapshot, r.Pod),
				Created:  victim.Created,
				CPU:      victim.Request.CPU,
				Memory:   victim.Memory,
				Budgets:  budgets,
			})
		}
	}
	return jobs, allowed, nil
}

// remainingGrowth returns the growth of a job, that of a new job until it has reported.
func remainingGrowth(snapshot *cache.Snapshot, pod growth.PodUID) growth.Growth {
	sample, known := snapshot.Sample(pod)
	if !known || !sample.Reported {
		return placement.NewJobGrowth
	}
	return sample.Growth
}

// Protected returns the disruption budget that does not permit the eviction of all of the pods now, or "". After an error it is
// the error.
func (s *Scheduler) Protected(pods ...*corev1.Pod) string {
	allowed, needed := preempt.DisruptionsAllowed{}, preempt.DisruptionsAllowed{}
	for _, pod := range pods {
		budgets, err := s.budgetsOf(request.Pod{
			Ref:    request.Ref(pod),
			Labels: pod.Labels,
		}, selectsEvicted, allowed)
		if err != nil {
			return err.Error()
		}
		slices.Sort(budgets)
		if len(budgets) > 1 { // the API server evicts no such pod
			return string(budgets[0]) + " next to " + string(budgets[1])
		}
		for _, b := range budgets {
			needed[b]++
		}
	}
	for _, budget := range slices.Sorted(maps.Keys(needed)) {
		if needed[budget] > allowed[budget] {
			return string(budget)
		}
	}
	return ""
}

// selects reports whether the selector of a budget selects a pod with these labels.
type selects func(selector labels.Selector, pod labels.Set) bool

// selectsVictim is the rule of kube-scheduler's preemption. It ignores empty selectors, and pods without labels.
func selectsVictim(selector labels.Selector, pod labels.Set) bool {
	return len(pod) > 0 && !selector.Empty() && selector.Matches(pod)
}

// selectsEvicted is the rule of the Eviction API: an empty selector selects all pods of the namespace, a missing one none.
func selectsEvicted(selector labels.Selector, pod labels.Set) bool { return selector.Matches(pod) }

// budgetsOf returns the budgets that select the pod, and adds their allowed disruptions. A budget does not count a pod
// whose disruption has started already.
func (s *Scheduler) budgetsOf(pod request.Pod, matches selects, allowed preempt.DisruptionsAllowed) ([]preempt.Budget, error) {
	budgets, err := s.Budgets.In(pod.Ref.Namespace)
	if err != nil {
		return nil, fmt.Errorf("listing disruption budgets: %w", err)
	}
	var names []preempt.Budget
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !matches(selector, labels.Set(pod.Labels)) {
			continue // an invalid selector selects no pod
		}
		if _, disrupted := b.Status.DisruptedPods[pod.Ref.Name]; disrupted {
			continue
		}
		name := preempt.Budget(b.Namespace + "/" + b.Name)
		allowed[name] = int(b.Status.DisruptionsAllowed)
		names = append(names, name)
	}
	return names, nil
}
