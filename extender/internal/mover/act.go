package mover

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// act makes what the record wants so, as far as one call for each object goes, and reports whether it has changed one.
func (m *Mover) act(ctx context.Context, record bus.Move, s seen) (bool, error) {
	wants := record.Move.Wants()
	held, err := m.actOnTarget(ctx, record, wants)
	if err != nil {
		return false, err
	}
	onOld, err := m.actOnOld(ctx, record.Move, wants, s)
	if err != nil {
		return false, err
	}
	onCopy, err := m.actOnCopy(ctx, record.Move, wants, s)
	if err != nil {
		return false, err
	}
	kept, err := m.keepDeadline(ctx, record.Move, s)
	if err != nil || kept {
		return true, err // the pod is read again
	}
	given, err := m.handOver(ctx, record.Move, s)
	if err != nil || given {
		return true, err
	}
	return held || onOld || onCopy, m.wake(ctx, record.Move, s)
}

// actOnTarget holds memory on the target while the job may come, and releases it after that. It reports whether it has released
// memory, and so whether there may be more.
func (m *Mover) actOnTarget(ctx context.Context, record bus.Move, wants move.Wants) (bool, error) {
	to := record.Move.To
	if to == "" {
		return false, nil
	}
	if !wants.Target {
		return m.Memory.Drop(ctx, record.Pod, to)
	}
	if err := m.Memory.Hold(ctx, record.Move.Old, to); err != nil {
		m.Log.Info("no memory is reserved for a job that moves", "pod", record.Pod, "node", to, "err", err)
	}
	return false, nil
}

// actOnOld annotates the old pod and evicts it, at the version that was read.
func (m *Mover) actOnOld(ctx context.Context, r move.Record, wants move.Wants, s seen) (bool, error) {
	if s.old == nil || s.old.DeletionTimestamp != nil {
		return false, nil
	}
	due := changes{Annotations: annotations(s.old, r, wants), Labels: ownership(s.old, r, wants, s.Permission)}
	if len(due.Annotations)+len(due.Labels) > 0 {
		return true, m.change(ctx, s.old, due)
	}
	if !wants.Evict || !s.evictable(r) {
		return false, nil
	}
	return false, m.evict(ctx, s)
}

// evictable reports whether the old pod may be evicted: see move.Wants.
func (s seen) evictable(r move.Record) bool {
	phase := s.old.Status.Phase
	running := phase == corev1.PodRunning || r.Gang != nil && phase == corev1.PodFailed
	copied := !r.Bare || s.successor != nil && len(withheld(r, s)) == 0
	return running && copied && s.Permission == move.Granted && s.mayGo(r) && s.prepared
}

// evict evicts the old pod at the version that was read.
func (m *Mover) evict(ctx context.Context, s seen) error {
	err := m.Client.CoreV1().Pods(s.old.Namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.old.Namespace, Name: s.old.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
			UID:             &s.old.UID,
			ResourceVersion: &s.old.ResourceVersion,
		}},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) {
		return nil // it ends, has changed, or a budget refuses it for now
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
		want[gpushare.PausedAnnotation] = "true"
	}
	changes := map[string]*string{}
	for name, value := range want {
		if pod.Annotations[name] != value {
			changes[name] = &value
		}
	}
	if r.State.Final() {
		release(changes, pod, r)
	}
	return changes
}

// wake annotates a successor that waits for its node, once it may be placed. kube-scheduler tries a pod that an extender has
// rejected again after any event, and this is one: it is certain to come when the answer has changed.
func (m *Mover) wake(ctx context.Context, r move.Record, s seen) error {
	p, value := s.successor, r.ID+" continues"
	if r.Bare || r.State != move.Evicted || p == nil || p.Spec.NodeName != "" || p.Annotations[gpushare.MovingAnnotation] == value {
		return nil
	}
	if m.Place(request.Identity(p)).Wait {
		return nil
	}
	return m.change(ctx, p, changes{Annotations: map[string]*string{gpushare.MovingAnnotation: &value}})
}

// changes are values of annotations and labels; nil removes one.
type changes struct {
	Annotations map[string]*string `json:"annotations,omitempty"`
	Labels      map[string]*string `json:"labels,omitempty"`
}

// change changes a pod, unless it has changed since it was read.
func (m *Mover) change(ctx context.Context, pod *corev1.Pod, c changes) error {
	patch, err := json.Marshal(map[string]any{"metadata": struct {
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
		changes
	}{pod.UID, pod.ResourceVersion, c}})
	if err != nil {
		return err
	}
	_, err = m.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the next pass sees what it is now
	}
	return fmt.Errorf("changing pod %s: %w", pod.Name, err)
}
