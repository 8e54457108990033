package mover

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// decline refuses requests to pods that move already, unless their moves serve them: a move does not change its target.
func (m *Mover) decline(ctx context.Context, members []*request.Pod, moves movesNow) error {
	going := map[growth.PodUID]move.Record{}
	for _, record := range moves.going() {
		going[record.Pod.UID] = record.Move
	}
	var errs []error
	for _, known := range members {
		r, moving := going[known.Ref.UID]
		if !moving || serves(r, growth.NodeName(known.Move)) {
			continue
		}
		pod, err := m.current(ctx, known.Ref)
		if pod == nil || serves(r, asked(pod)) {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, m.refuse(ctx, pod, fmt.Sprintf("The job is not moved to %s now, because it %s. Ask again once that move has ended",
			wanted(asked(pod)), course(r))))
	}
	return errors.Join(errs...)
}

// serves reports whether a move does what the user asks of its old pod: nothing, another node, or the target. A request that names the
// node of a pod of a gang is none (targets.offered).
func serves(r move.Record, asked growth.NodeName) bool {
	switch asked {
	case "", r.To:
		return true
	case gpushare.MoveAnywhere:
		return r.From != r.To
	}
	return r.Gang != nil && asked == r.From
}

// wanted names the node that a user asks for.
func wanted(asked growth.NodeName) string {
	if asked == gpushare.MoveAnywhere {
		return "another node"
	}
	return "node " + string(asked)
}

// release adds the changes of an old pod whose job goes on after the move has ended. They are made once: the annotation of the
// permission says so from then on, and a request to move that the pod has later is a new one.
func release(due map[string]*string, pod *corev1.Pod, r move.Record) {
	held := pod.Annotations[gpushare.SaveAnnotation] == r.ID
	if !held && permission(pod, r.ID) == move.Withdrawn {
		return
	}
	withdrawn := r.ID + " " + string(move.Withdrawn)
	due[gpushare.MovingAnnotation] = &withdrawn
	obsolete := []string{}
	if held {
		obsolete = append(obsolete, gpushare.SaveAnnotation, gpushare.PausedAnnotation)
	}
	if serves(r, asked(pod)) {
		obsolete = append(obsolete, gpushare.MoveAnnotation)
	}
	for _, name := range obsolete {
		if _, set := pod.Annotations[name]; set {
			due[name] = nil
		}
	}
}
