package mover

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/move"
)

// lister lists the pods of one namespace.
type lister func() (*corev1.PodList, error)

// lookAtAll observes the pods of a move, after their records were read.
func (m *Mover) lookAtAll(ctx context.Context, group []tracked) ([]seen, error) {
	list := sync.OnceValues(func() (*corev1.PodList, error) {
		return m.Client.CoreV1().Pods(group[0].record.Move.Next.Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	})
	all, observed := make([]seen, len(group)), make([]move.Seen, len(group))
	for i, t := range group {
		s, err := m.look(ctx, t.record, list)
		if err != nil {
			return nil, err
		}
		all[i], observed[i] = s, s.Seen
	}
	refused := m.refused(group, all)
	unavailable, err := m.savedCheckpointUnavailable(ctx, group, all)
	if err != nil {
		return nil, err
	}
	for i, s := range move.WithOthers(observed) {
		s.Refused, s.CheckpointUnavailable = refused, unavailable
		all[i].Seen, all[i].prepared = s, true
		for k, t := range group {
			all[i].prepared = all[i].prepared && (k == i || all[k].mayGo(t.record.Move))
		}
	}
	return all, nil
}

// refused returns why the old pods are not evicted, or "".
func (m *Mover) refused(group []tracked, all []seen) string {
	var pods []*corev1.Pod
	for i, t := range group {
		if s := t.record.Move.State; all[i].old != nil && (s == move.Saving || s == move.Saved) {
			pods = append(pods, all[i].old)
		}
	}
	if budget := m.Protected(pods...); budget != "" {
		return "the disruption budget " + budget + " does not permit it now"
	}
	return ""
}

// mayGo reports whether the old pod may be evicted, or has ended, as far as its annotation and its owner are concerned.
func (s seen) mayGo(r move.Record) bool {
	if s.Old == nil || s.Old.Ended && !s.Old.Failed {
		return true
	}
	return s.Permission == move.Granted && (!r.Detach || detached(s.old))
}
