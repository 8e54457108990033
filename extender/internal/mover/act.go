package mover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// act makes what the record wants so, as far as one call for each object goes. The rest follows in the next pass.
func (m *Mover) act(ctx context.Context, record bus.Move, s seen) error {
	wants := record.Move.Wants()
	return errors.Join(m.actOnOld(ctx, record.Move, wants, s), m.actOnCopy(ctx, record.Move, wants, s))
}

// actOnOld annotates the old pod and evicts it, at the version that was read.
func (m *Mover) actOnOld(ctx context.Context, r move.Record, wants move.Wants, s seen) error {
	if s.old == nil || s.old.DeletionTimestamp != nil {
		return nil
	}
	if changes := annotations(s.old, r, wants); len(changes) > 0 {
		return m.annotate(ctx, s.old, changes)
	}
	running := s.old.Status.Phase == corev1.PodRunning
	if !wants.Evict || s.Permission != move.Granted || !running || r.Bare && s.successor == nil {
		return nil
	}
	err := m.Client.CoreV1().Pods(s.old.Namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.old.Namespace, Name: s.old.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
			UID:             &s.old.UID,
			ResourceVersion: &s.old.ResourceVersion,
		}},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) {
		return nil // gone, changed, or a budget refuses it for now
	}
	return fmt.Errorf("evicting it: %w", err)
}

// annotations returns the changes that a move wants on the old pod; nil removes an annotation.
func annotations(pod *corev1.Pod, r move.Record, wants move.Wants) map[string]*string {
	want := map[string]string{}
	switch {
	case wants.Withdraw:
		want[gpushare.MovingAnnotation] = r.ID + " " + string(move.Withdrawn)
	case wants.Grant && permission(pod, r.ID) == move.None:
		want[gpushare.MovingAnnotation] = r.ID + " " + string(move.Granted)
	}
	if wants.Hold {
		want[gpushare.SaveAnnotation] = r.ID
	}
	if wants.Hold && r.Checkpoint != nil {
		want[gpushare.PausedAnnotation] = "true"
	}
	changes := map[string]*string{}
	for name, value := range want {
		if pod.Annotations[name] != value {
			changes[name] = &value
		}
	}
	if r.State.Final() && pod.Annotations[gpushare.SaveAnnotation] == r.ID { // the job goes on
		for _, name := range []string{gpushare.SaveAnnotation, gpushare.PausedAnnotation, gpushare.MoveAnnotation} {
			if _, set := pod.Annotations[name]; set {
				changes[name] = nil
			}
		}
	}
	if _, asks := pod.Annotations[gpushare.MoveAnnotation]; asks && r.State == move.Aborted && r.Checkpoint == nil {
		changes[gpushare.MoveAnnotation] = nil
	}
	return changes
}

// annotate changes annotations of a pod, unless it has changed since it was read.
func (m *Mover) annotate(ctx context.Context, pod *corev1.Pod, changes map[string]*string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             pod.UID,
		"resourceVersion": pod.ResourceVersion,
		"annotations":     changes,
	}})
	if err != nil {
		return err
	}
	_, err = m.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the next pass sees what it is now
	}
	return fmt.Errorf("annotating it: %w", err)
}
