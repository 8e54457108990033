package mover

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/podevents"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

// announce reports a change of state: an event on the pod that is the job now, the log, and the metric of ended moves.
func (m *Mover) announce(ctx context.Context, record bus.Move, before move.Record, s seen, now time.Time) {
	r := record.Move
	if r.Behind != before.Behind {
		m.Log.Warn("a job that moves does not continue from its checkpoint", "pod", record.Pod, "move", r.ID, "step", r.Behind,
			"saved", r.Checkpoint.Step, "path", r.Checkpoint.Path, "sha256", r.Checkpoint.SHA256)
	}
	switch {
	case r.State == before.State && r.Why == before.Why:
		return
	case r.State == before.State:
		m.Log.Info("a move is being given up", "pod", record.Pod, "move", r.ID, "state", r.State, "why", r.Why)
		return
	}
	m.Log.Info("a move goes on", "pod", record.Pod, "move", r.ID, "state", r.State, "before", before.State, "why", r.Why)
	if r.State.Final() {
		m.Ended(r.State, now.Sub(r.Began))
	}
	job := record.Pod
	if r.Gone && s.successor != nil {
		job = request.Ref(s.successor)
	}
	switch r.State {
	case move.Saved:
		m.event(ctx, job, corev1.EventTypeNormal, "MoveSaved",
			fmt.Sprintf("The job has saved step %d to %s %s, and waits to be evicted", r.Checkpoint.Step, r.Checkpoint.Path, purpose(r)))
	case move.Evicted:
		m.event(ctx, job, corev1.EventTypeNormal, "MoveEvicted",
			fmt.Sprintf("Pod %s is gone. The pod that continues its job may run on %s", record.Pod.Name, destination(r.To)))
	case move.Placed:
		m.event(ctx, job, corev1.EventTypeNormal, "MovePlaced",
			fmt.Sprintf("The job of pod %s continues here, from step %d", record.Pod.Name, r.Checkpoint.Step))
	case move.Done:
		kind := corev1.EventTypeNormal
		if r.Behind != 0 {
			kind = corev1.EventTypeWarning
		}
		m.event(ctx, job, kind, "Moved", fmt.Sprintf("%s in %s: %s%s", moved(r), tenths(now.Sub(r.Began)), parts(r.Cost(), r.NoImage), repeated(r)))
	case move.Aborted:
		m.event(ctx, job, corev1.EventTypeWarning, "MoveAborted", aborted(r))
	}
}

// destination names the nodes on which the new pod may run.
func destination(to growth.NodeName) string {
	if to == "" {
		return "any other node"
	}
	return "node " + string(to)
}

// purpose says what a job has saved for.
func purpose(r move.Record) string {
	if r.From == r.To {
		return "for the move of its other pods"
	}
	return "for its move to " + target(r.To)
}

// aborted says why a move has ended early. Before the eviction that of a gang ends for all of its pods.
func aborted(r move.Record) string {
	if r.Gang != nil && r.Checkpoint == nil {
		return fmt.Sprintf("The move of the job has ended early, and all of its %d pods run on: %s", len(r.Gang.Pods), r.Why)
	}
	return fmt.Sprintf("The move of the job to %s has ended early: %s%s", target(r.To), r.Why, repeated(r))
}

// repeated says that a job has not continued from the checkpoint that it saved for the move.
func repeated(r move.Record) string {
	if r.Behind == 0 {
		return ""
	}
	return fmt.Sprintf(". It did not continue from its checkpoint: step %d was saved in %s with SHA-256 %s, and its first report was step %d",
		r.Checkpoint.Step, r.Checkpoint.Path, r.Checkpoint.SHA256, r.Behind)
}

// moved says where the job is now.
func moved(r move.Record) string {
	if r.From == r.On {
		return fmt.Sprintf("The job has moved, and this pod of it has started again on node %s,", r.On)
	}
	return fmt.Sprintf("The job has moved from node %s to %s", r.From, r.On)
}

// parts describes what a move has cost.
func parts(c move.Cost, noImage bool) string {
	image := ""
	if noImage {
		image = " with an image that the node did not have"
	}
	return fmt.Sprintf("%s until it had saved, %s until its old pod was gone, %s until the new one had its node, "+
		"%s until its containers ran%s, %s until it continued",
		tenths(c.Save), tenths(c.Evict), tenths(c.Place), tenths(c.Start), image, tenths(c.Restore))
}

func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// event writes an event on a pod, which may be gone.
func (m *Mover) event(ctx context.Context, pod growth.PodRef, kind, reason, message string) {
	podevents.Writer{Client: m.Client, Log: m.Log}.Write(ctx, pod, kind, reason, message)
}
