package mover

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/podevents"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// maxExplained bounds the jobs that one pass explains: a cluster may have thousands when an extender starts.
const maxExplained = 8

// explainFixed writes an event on each job that cannot save, once. Its user learns from it why the job stays while others move.
func (m *Mover) explainFixed(ctx context.Context, snapshot *cache.Snapshot) {
	explained, left := map[growth.PodUID]bool{}, maxExplained
	for uid, pod := range snapshot.Pods.All() {
		if !pod.CannotSave || pod.Node == "" || pod.Ended {
			continue
		}
		if !m.explained[uid] {
			if left == 0 {
				continue
			}
			left--
			podevents.Writer{Client: m.Client, Log: m.Log}.WriteOnce(ctx, pod.Ref, corev1.EventTypeNormal, "NeverMoves",
				"The job is never moved, on request or without one, because its annotation "+gpushare.CheckpointAnnotation+" is none: it cannot save")
		}
		explained[uid] = true
	}
	m.explained = explained
}
