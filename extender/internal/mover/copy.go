package mover

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// actOnCopy creates and completes the copy of a bare pod, removes its gate, or deletes it.
func (m *Mover) actOnCopy(ctx context.Context, r move.Record, wants move.Wants, s seen) (bool, error) {
	if !r.Bare {
		return false, nil
	}
	if wants.Copy && s.old != nil {
		if changed, err := m.completeCopy(ctx, r, s); changed || err != nil {
			return changed, err // it is read again
		}
	}
	pods := m.Client.CoreV1().Pods(r.Next.Namespace)
	switch gate := gated(s.successor); {
	case wants.Open && m.opens(s.successor):
		opened := s.successor.DeepCopy()
		opened.Spec.SchedulingGates = slices.DeleteFunc(opened.Spec.SchedulingGates, ours)
		_, err := pods.Update(ctx, opened, metav1.UpdateOptions{}) // it carries the resource version
		if err != nil && !apierrors.IsConflict(err) {
			return false, fmt.Errorf("removing the gate of its copy: %w", err)
		}
	case wants.Drop && gate:
		err := pods.Delete(ctx, s.successor.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
			UID:             &s.successor.UID,
			ResourceVersion: &s.successor.ResourceVersion,
		}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return false, fmt.Errorf("deleting its copy: %w", err)
		}
	}
	return false, nil
}

// completeCopy creates the copy of a bare pod, and then adds what admission refuses on a new pod. It reports whether it has done either.
func (m *Mover) completeCopy(ctx context.Context, r move.Record, s seen) (bool, error) {
	if s.successor == nil {
		accepted, _ := recreate.Admissible(copied(s.old, r))
		_, err := m.Client.CoreV1().Pods(r.Next.Namespace).Create(ctx, accepted, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return false, fmt.Errorf("creating its copy: %w", err)
		}
		return true, nil
	}
	lacking := withheld(r, s)
	if len(lacking) == 0 {
		return false, nil
	}
	return true, m.change(ctx, s.successor, changes{Annotations: lacking})
}

// opens reports whether a copy is behind its gate, and may be placed.
func (m *Mover) opens(copied *corev1.Pod) bool {
	return gated(copied) && !m.Place(request.Identity(copied)).Wait
}

func ours(g corev1.PodSchedulingGate) bool { return g.Name == gpushare.MoveGate }

// gated reports whether a pod is a copy behind its gate.
func gated(pod *corev1.Pod) bool {
	return pod != nil && slices.ContainsFunc(pod.Spec.SchedulingGates, ours)
}

// copied returns the copy of a bare pod, behind a gate.
func copied(pod *corev1.Pod, r move.Record) *corev1.Pod {
	c := recreate.Copy(pod)
	c.Name, c.GenerateName = r.Next.Name, ""
	c.Spec.NodeName = ""
	for _, name := range []string{
		gpushare.RefusalsAnnotation, gpushare.MoveAnnotation, gpushare.MovingAnnotation, gpushare.SaveAnnotation, gpushare.SavedAnnotation,
		gpushare.PausedAnnotation, gpushare.MovesAnnotation,
	} {
		delete(c.Annotations, name)
	}
	c.Spec.SchedulingGates = append(c.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gpushare.MoveGate})
	return c
}

// withheld returns the annotations of a bare pod that its copy still lacks, because admission refuses them on a new pod of its kind. It
// is complete before the old pod, the only one that has them, is evicted. The deadline is that of the record (keepDeadline).
func withheld(r move.Record, s seen) map[string]*string {
	if !r.Bare || s.old == nil || !gated(s.successor) {
		return nil
	}
	lacking := map[string]*string{}
	_, annotations := recreate.Admissible(copied(s.old, r))
	for name, value := range annotations {
		_, has := s.successor.Annotations[name]
		if !has && (name != gpushare.DeadlineAnnotation || r.Deadline.IsZero()) {
			lacking[name] = &value
		}
	}
	return lacking
}
