package mover

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// handOver gives the successor what its job has saved for the move, until its containers run. The device plugin passes it on to them.
// It reports whether it has changed the pod.
//
// The successor is not placed before (place). If a user binds it, it may start before it has the annotation, and continues from the file that it
// finds, as without a move.
func (m *Mover) handOver(ctx context.Context, r move.Record, s seen) (bool, error) {
	p := s.successor
	if p == nil || r.Checkpoint == nil || r.State.Final() || p.Status.Phase == corev1.PodRunning || ended(p) {
		return false, nil
	}
	saved := gpushare.Saved{Step: r.Checkpoint.Step, SHA256: r.Checkpoint.SHA256, Path: r.Checkpoint.Path}
	value := saved.BeforeMove(r.ID).String()
	if p.Annotations[gpushare.SavedAnnotation] == value {
		return false, nil
	}
	return true, m.change(ctx, p, changes{Annotations: map[string]*string{gpushare.SavedAnnotation: &value}})
}
