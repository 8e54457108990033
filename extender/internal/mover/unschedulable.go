package mover

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/growth"
)

// unschedulable returns why kube-scheduler would not place a pod on a node, apart from GPU memory, or "". It is stricter: pods with
// rules about other pods are not moved without a request.
func unschedulable(pod *corev1.Pod, on occupied) string {
	if pod.Spec.NodeName == on.node.Name {
		return "the pod is there"
	}
	if why := closed(pod, on.node); why != "" {
		return why
	}
	if aboutOthers(pod) {
		return "the pod has rules about other pods"
	}
	cpu, memory := recreate.Lasting(pod)
	has := on.node.Status.Allocatable
	if free, known := has[corev1.ResourceCPU]; known && on.cpu+cpu > growth.MilliCPU(free.MilliValue()) {
		return "too little CPU is left"
	}
	if free, known := has[corev1.ResourceMemory]; known && on.memory+memory > growth.MiB(free.Value()>>20) {
		return "too little memory is left"
	}
	if most, known := has[corev1.ResourcePods]; known && int64(on.pods) >= most.Value() {
		return "the node has as many pods as it may"
	}
	return ""
}

// closed returns why no pod like this one may come to a node, or "".
func closed(pod *corev1.Pod, n *corev1.Node) string {
	switch {
	case n.Spec.Unschedulable:
		return "the node is cordoned"
	case !ready(n):
		return "the node is not ready"
	case !tolerated(pod, n.Spec.Taints):
		return "the node has a taint"
	case !selected(pod, n):
		return "the node is not selected"
	}
	return ""
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// tolerated reports whether a pod tolerates all taints that keep pods away.
func tolerated(pod *corev1.Pod, taints []corev1.Taint) bool {
	return !slices.ContainsFunc(taints, func(taint corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			sameKey := t.Key == taint.Key || t.Key == "" && t.Operator == corev1.TolerationOpExists
			sameEffect := t.Effect == "" || t.Effect == taint.Effect
			return sameKey && sameEffect && (t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
		})
	})
}

// selected reports whether the node selector and the required node affinity of a pod select a node.
func selected(pod *corev1.Pod, n *corev1.Node) bool {
	if !labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(n.Labels)) {
		return false
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	return anyOf(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, n)
}

// anyOf reports whether one of the terms selects a node.
func anyOf(terms []corev1.NodeSelectorTerm, n *corev1.Node) bool {
	return slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool {
		return len(term.MatchExpressions)+len(term.MatchFields) > 0 &&
			matches(term.MatchExpressions, labels.Set(n.Labels)) &&
			matches(term.MatchFields, labels.Set{"metadata.name": n.Name})
	})
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn:           selection.In,
	corev1.NodeSelectorOpNotIn:        selection.NotIn,
	corev1.NodeSelectorOpExists:       selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan,
	corev1.NodeSelectorOpLt:           selection.LessThan,
}

func matches(requirements []corev1.NodeSelectorRequirement, set labels.Set) bool {
	for _, r := range requirements {
		requirement, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
		if err != nil || !requirement.Matches(set) {
			return false
		}
	}
	return true
}

// aboutOthers reports whether other pods, or their ports, decide where a pod may run.
func aboutOthers(pod *corev1.Pod) bool {
	a := pod.Spec.Affinity
	spread := func(c corev1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == corev1.DoNotSchedule }
	port := func(p corev1.ContainerPort) bool { return p.HostPort != 0 }
	return a != nil && a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
		slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, spread) ||
		slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return slices.ContainsFunc(c.Ports, port) })
}
