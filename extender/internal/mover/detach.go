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

	"github.com/trellis-gpu/trellis/growth/move"
)

// The pods of a PyTorchJob have two labels by which the training operator selects them: the name of the job, and operatorLabel.
const (
	operatorLabel   = "training.kubeflow.org/operator-name"
	pyTorchJobKind  = "PyTorchJob"
	pyTorchOperator = "pytorchjob-controller"
)

// selector is the label by which an owner selects its pods.
type selector struct{ label, value string }

// selectionBy returns how the owner of a pod selects it. A pod that has left its Job has no owner any more, so the UID of
// that comes from the record.
func selectionBy(pod *corev1.Pod, owner string) selector {
	if ofPyTorchJob(pod) {
		return selector{operatorLabel, pyTorchOperator}
	}
	return selector{batchv1.ControllerUidLabel, owner}
}

func ofPyTorchJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == pyTorchJobKind
}

// detaches reports whether a pod leaves its owner before it is evicted: a pod that its Job or PyTorchJob selects by a known label, and
// no disruption budget by anything. A budget may count the pods of a controller.
func (m *Mover) detaches(ctx context.Context, pod *corev1.Pod) (bool, error) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" && owner.Kind != pyTorchJobKind {
		return false, nil
	}
	if s := selectionBy(pod, string(owner.UID)); pod.Labels[s.label] != s.value {
		return false, nil
	}
	budgets, err := m.Client.PolicyV1().PodDisruptionBudgets(pod.Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return false, fmt.Errorf("reading disruption budgets: %w", err)
	}
	return !slices.ContainsFunc(budgets.Items, func(b policyv1.PodDisruptionBudget) bool {
		by, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		return err != nil || by.Matches(labels.Set(pod.Labels))
	}), nil
}

// ownership returns the changes of the label by which the owner of the old pod selects it.
func ownership(pod *corev1.Pod, r move.Record, wants move.Wants, permission move.Permission) map[string]*string {
	by := selectionBy(pod, r.Next.Owner)
	_, selected := pod.Labels[by.label]
	switch {
	case wants.Detach && permission == move.Granted && selected:
		return map[string]*string{by.label: nil}
	case wants.Attach && !selected:
		return map[string]*string{by.label: &by.value}
	}
	return nil
}

// attached reports whether a pod belongs to its owner, and is selected by it.
func attached(pod *corev1.Pod) bool {
	return metav1.GetControllerOf(pod) != nil && pod.Labels[selectionBy(pod, "").label] != ""
}

// detached reports whether the owner of a pod takes no notice of it. A Job says so when it removes itself as the owner. The training
// operator remains the owner. It sees the label go before anything that happens to the pod later, and then ignores the pod.
func detached(pod *corev1.Pod) bool {
	if ofPyTorchJob(pod) {
		return !attached(pod)
	}
	return metav1.GetControllerOf(pod) == nil
}
