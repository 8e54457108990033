package mover

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/podevents"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

// announce reports a change of state: an event on the pod that is the job now, the log, and the metric of ended moves.
func (m *Mover) announce(ctx context.Context, record bus.Move, before move.Record, s seen, now time.Time) {
	r := record.Move
	if r.State == before.State {
		m.Log.Info("a move is being given up", "pod", record.Pod, "move", r.ID, "state", r.State, "why", r.Why)
		return
	}
	m.Log.Info("a move goes on", "pod", record.Pod, "move", r.ID, "state", r.State, "before", before.State, "why", r.Why)
	if r.State.Final() {
		m.Ended(r.State, now.Sub(r.Began))
	}
	job := s.old
	if r.Gone && s.successor != nil {
		job = s.successor
	}
	if job == nil {
		return
	}
	switch r.State {
	case move.Saved:
		m.event(ctx, job, corev1.EventTypeNormal, "MoveSaved",
			fmt.Sprintf("The job has saved step %d to %s for its move to %s, and waits to be evicted", r.Checkpoint.Step, r.Checkpoint.Path, target(r.To)))
	case move.Placed:
		m.event(ctx, job, corev1.EventTypeNormal, "MovePlaced",
			fmt.Sprintf("The job of pod %s continues here, from step %d", record.Pod.Name, r.Checkpoint.Step))
	case move.Done:
		m.event(ctx, job, corev1.EventTypeNormal, "Moved",
			fmt.Sprintf("The job has moved from node %s to %s in %s: %s", r.From, r.On, tenths(now.Sub(r.Began)), parts(r.Cost())))
	case move.Aborted:
		m.event(ctx, job, corev1.EventTypeWarning, "MoveAborted", fmt.Sprintf("The move of the job to %s has ended early: %s", target(r.To), r.Why))
	}
}

// parts describes what a move has cost.
func parts(c move.Cost) string {
	return fmt.Sprintf("%s until it had saved, %s until its old pod was gone, %s until the new one had its node, %s until it continued",
		tenths(c.Save), tenths(c.Evict), tenths(c.Place), tenths(c.Restore))
}

func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// event writes an event on a pod.
func (m *Mover) event(ctx context.Context, pod *corev1.Pod, kind, reason, message string) {
	podevents.Writer{Client: m.Client, Log: m.Log}.Write(ctx, request.Ref(pod), kind, reason, message)
}
