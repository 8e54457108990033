package mover

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/rebalance"
)

// propose begins the moves that users ask for.
func (m *Mover) propose(ctx context.Context, snapshot *cache.Snapshot, known map[growth.PodUID]bus.Entry, going int, now time.Time) error {
	var errs []error
	for uid, pod := range snapshot.Pods.All() {
		if pod.Move == "" || pod.Node == "" || pod.Ended || going >= maxActive {
			continue
		}
		var last *bus.Entry
		if entry, ok := known[uid]; ok {
			if record, err := bus.Decode[bus.Move](entry.Value); err != nil || !record.Move.State.Final() {
				continue
			}
			last = &entry
		}
		began, err := m.begin(ctx, pod, last, now)
		if err != nil {
			errs = append(errs, fmt.Errorf("pod %s: %w", pod.Ref, err))
		}
		if began {
			going++
		}
	}
	return errors.Join(errs...)
}

// begin writes the record of a move, in place of that of an earlier one, or refuses the move.
func (m *Mover) begin(ctx context.Context, known *request.Pod, last *bus.Entry, now time.Time) (bool, error) {
	pod, err := m.Client.CoreV1().Pods(known.Ref.Namespace).Get(ctx, known.Ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && (growth.PodUID(pod.UID) != known.Ref.UID || pod.Annotations[gpushare.MoveAnnotation] == "") {
		return false, nil // the snapshot lags
	}
	if err != nil {
		return false, err
	}
	to := growth.NodeName(pod.Annotations[gpushare.MoveAnnotation])
	if to == gpushare.MoveAnywhere {
		to = ""
	}
	why, err := m.refusal(ctx, pod, to)
	if err != nil {
		return false, err
	}
	if why != "" {
		m.event(ctx, pod, corev1.EventTypeWarning, "MoveRefused", why)
		return false, m.change(ctx, pod, changes{Annotations: map[string]*string{gpushare.MoveAnnotation: nil}})
	}
	d := rebalance.Decision{Pod: known.Ref, From: known.Node, To: to, Cause: move.Requested}
	return m.write(ctx, pod, d, last, now)
}

// newID returns the ID of a new move. IDs grow with time, and those of one pass differ.
func (m *Mover) newID(now time.Time) string {
	m.last = max(m.last+1, now.UnixNano())
	return fmt.Sprintf("move-%016x", m.last)
}

// refusal returns why a pod cannot be moved, in a sentence for the user.
func (m *Mover) refusal(ctx context.Context, pod *corev1.Pod, to growth.NodeName) (string, error) {
	spec, err := gpushare.Parse(pod.Annotations)
	switch {
	case err != nil:
		return fmt.Sprintf("The job is not moved, because its annotations are invalid: %s", err), nil
	case spec.Checkpoint == gpushare.CheckpointNone:
		return "The job is not moved, because its annotation " + gpushare.CheckpointAnnotation + " is none: it cannot save", nil
	case pod.Annotations[gpushare.PausedAnnotation] != "":
		return "The job is not moved while it is paused. Remove the annotation " + gpushare.PausedAnnotation + " first", nil
	case string(to) == pod.Spec.NodeName:
		return fmt.Sprintf("The job is on node %s already", to), nil
	}
	if to != "" {
		if why := m.Unfit(pod, to); why != "" {
			return fmt.Sprintf("The job is not moved to node %s: %s", to, why), nil
		}
	}
	return m.others(ctx, pod)
}

// others returns a reason if the job has other pods: such jobs are not moved yet.
func (m *Mover) others(ctx context.Context, pod *corev1.Pod) (string, error) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return "", nil
	}
	pods, err := m.Client.CoreV1().Pods(pod.Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return "", err
	}
	for _, other := range pods.Items {
		ended := other.Status.Phase == corev1.PodSucceeded || other.Status.Phase == corev1.PodFailed
		if other.UID != pod.UID && !ended && metav1.IsControlledBy(&other, &metav1.ObjectMeta{UID: owner.UID}) {
			return fmt.Sprintf("The job is not moved, because its %s %s has other pods, such as %s: jobs of several pods are not moved yet",
				owner.Kind, owner.Name, other.Name), nil
		}
	}
	return "", nil
}

// target names the target of a move in an event.
func target(to growth.NodeName) string {
	if to == "" {
		return "another one"
	}
	return string(to)
}
