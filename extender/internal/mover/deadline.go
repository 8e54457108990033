package mover

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// deadlineOf returns when the user needs the result of a pod's job; zero if there is no deadline.
func deadlineOf(pod *corev1.Pod) time.Time {
	spec, err := request.Spec(pod)
	if err != nil {
		return time.Time{}
	}
	return spec.Deadline.Time(pod.CreationTimestamp.Time).UTC().Truncate(time.Second)
}

// keepDeadline gives the successor, before it has a node, the deadline of its job: "6h" counts from the creation of a pod, and would
// begin again with each move. It reports whether it has changed the pod.
func (m *Mover) keepDeadline(ctx context.Context, r move.Record, s seen) (bool, error) {
	p := s.successor
	if p == nil || p.Spec.NodeName != "" || r.State.Final() || r.Deadline.IsZero() || deadlineOf(p).Equal(r.Deadline) {
		return false, nil
	}
	value := r.Deadline.Format(time.RFC3339)
	return true, m.change(ctx, p, changes{Annotations: map[string]*string{gpushare.DeadlineAnnotation: &value}})
}
