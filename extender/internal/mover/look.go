package mover

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// seen is what was observed of a move, with the objects.
type seen struct {
	move.Seen
	old, successor *corev1.Pod
	// prepared is set if all other pods of the gang may be evicted too: a process may fail once others are gone.
	prepared bool
}

// look observes the move of one pod.
func (m *Mover) look(ctx context.Context, record bus.Move, list lister) (s seen, err error) {
	pod, err := m.Client.CoreV1().Pods(record.Pod.Namespace).Get(ctx, record.Pod.Name, metav1.GetOptions{})
	switch {
	case err == nil && growth.PodUID(pod.UID) == record.Pod.UID:
		s.old, s.Old = pod, old(pod)
		s.Permission = permission(pod, record.Move.ID)
		s.Attached = attached(pod)
		s.Checkpoint, s.SaveFailed = answer(pod, record.Move.ID)
	case err != nil && !apierrors.IsNotFound(err):
		return s, err
	}
	if s.successor, err = m.find(ctx, record, list); err != nil {
		return s, err
	}
	if p := s.successor; p != nil {
		s.New = &move.Pod{UID: growth.PodUID(p.UID), Node: growth.NodeName(p.Spec.NodeName), Ended: ended(p)}
		s.Trouble, s.Fails = trouble(p)
		s.Started = started(p)
		if record.Move.State == move.Evicted && p.Spec.NodeName != "" {
			s.NoImage = m.noImage(ctx, p)
		}
		if record.Move.Checkpoint != nil && !record.Move.State.Final() {
			if s.Step, err = m.reported(ctx, s.New.UID); err != nil {
				return s, err
			}
		}
	}
	s.TargetLost = m.lost(record, s)
	s.Reserved = m.Memory.Held(record.Move.Old, record.Move.To)
	return s, nil
}

// old describes the old pod. It is gone as soon as its containers have ended because it is being deleted. If they have succeeded
// meanwhile, the job has ended by itself.
func old(pod *corev1.Pod) *move.Pod {
	deleted := pod.DeletionTimestamp != nil
	if deleted && pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	return &move.Pod{
		UID:    growth.PodUID(pod.UID),
		Node:   growth.NodeName(pod.Spec.NodeName),
		Ended:  ended(pod),
		Failed: pod.Status.Phase == corev1.PodFailed,
	}
}

// lost returns why the target cannot take the job any more.
func (m *Mover) lost(record bus.Move, s seen) string {
	r := record.Move
	if r.To == "" || s.Old == nil || r.State != move.Proposed && r.State != move.Saving && r.State != move.Saved {
		return ""
	}
	if why := m.Unfit(s.old, r.To); why != "" {
		return "node " + string(r.To) + " has no room any more: " + why
	}
	return ""
}

// find returns the successor; nil if there is none.
func (m *Mover) find(ctx context.Context, record bus.Move, list lister) (*corev1.Pod, error) {
	if name := record.Move.Next.Name; name != "" {
		pod, err := m.Client.CoreV1().Pods(record.Move.Next.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return pod, err
	}
	switch record.Move.State {
	case move.Proposed, move.Saving, move.Done, move.Aborted:
		return nil, nil // it does not matter yet, or any more
	}
	pods, err := list()
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		earlier := record.Move.New == "" && (ended(p) || p.DeletionTimestamp != nil) // a pod that its owner has replaced before
		if !earlier && record.Move.Continues(request.Identity(p)) {
			return p, nil
		}
	}
	return nil, nil
}

// reported returns the step that a pod's job has published.
func (m *Mover) reported(ctx context.Context, pod growth.PodUID) (int64, error) {
	sample, err := m.sample(ctx, pod)
	return sample.Step, err
}

// sample returns the latest sample of a job, the zero value without one.
func (m *Mover) sample(ctx context.Context, pod growth.PodUID) (bus.Sample, error) {
	key := bus.SampleKey(pod)
	entries, _, err := m.Bus.List(ctx, key)
	if err != nil {
		return bus.Sample{}, err
	}
	for _, entry := range entries {
		if sample, err := bus.Decode[bus.Sample](entry.Value); err == nil && entry.Key == key {
			return sample, nil
		}
	}
	return bus.Sample{}, nil
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// permission returns what a pod says about the permission of a move. That of a later move withdraws it. IDs grow with time.
func permission(pod *corev1.Pod, id string) move.Permission {
	of, value, _ := strings.Cut(pod.Annotations[gpushare.MovingAnnotation], " ")
	switch {
	case of == id:
		return move.Permission(value)
	case of > id:
		return move.Withdrawn
	}
	return move.None
}

// answer returns what the job has saved for a move, or why it could not.
func answer(pod *corev1.Pod, id string) (*move.Checkpoint, string) {
	saved, err := gpushare.ParseSaved(pod.Annotations[gpushare.SavedAnnotation])
	if err != nil || saved.Request != id {
		return nil, ""
	}
	if saved.Failed != "" {
		return nil, saved.Failed
	}
	return &move.Checkpoint{Path: saved.Path, SHA256: saved.SHA256, Step: saved.Step}, ""
}
