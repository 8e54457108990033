package mover

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/move"
)

// ownerLabel is the label by which a Job selects its pods.
const ownerLabel = batchv1.ControllerUidLabel

// detaches reports whether a pod leaves its owner before it is evicted: a pod that its Job selects by the Job's UID, and no disruption
// budget by anything. A budget may count the pods of a controller.
func (m *Mover) detaches(ctx context.Context, pod *corev1.Pod) (bool, error) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" || pod.Labels[ownerLabel] != string(owner.UID) {
		return false, nil
	}
	budgets, err := m.Client.PolicyV1().PodDisruptionBudgets(pod.Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return false, fmt.Errorf("reading disruption budgets: %w", err)
	}
	return !slices.ContainsFunc(budgets.Items, func(b policyv1.PodDisruptionBudget) bool {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		return err != nil || selector.Matches(labels.Set(pod.Labels))
	}), nil
}

// maxName bounds the name of a pod, by which its host is named too. A copy has a suffix.
const (
	maxName = 63
	suffix  = 8 // of the ID of the move
)

// stem returns the part of a pod's name that its copy keeps.
func stem(name string) string { return name[:min(len(name), maxName-suffix-1)] }

// successor identifies the pod that will continue the job.
func successor(pod *corev1.Pod, r move.Record) move.Successor {
	p := request.Identity(pod)
	if r.Bare {
		return move.Successor{Namespace: p.Namespace, Name: stem(p.Name) + "-" + r.ID[len(r.ID)-suffix:]}
	}
	return move.Successor{Namespace: p.Namespace, Owner: p.Owner, Index: p.Index}
}
