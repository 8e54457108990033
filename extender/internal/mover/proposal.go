package mover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/rebalance"
)

// proposal returns the record of a pod that moves.
func (m *Mover) proposal(ctx context.Context, id string, pod *corev1.Pod, d rebalance.Decision, now time.Time) (bus.Move, error) {
	detaches, err := m.detaches(ctx, pod)
	if err != nil {
		return bus.Move{}, err
	}
	r := move.Record{
		ID:       id,
		Old:      growth.PodUID(pod.UID),
		Bare:     metav1.GetControllerOf(pod) == nil,
		Detach:   detaches,
		From:     d.From,
		To:       d.To,
		State:    move.Proposed,
		Since:    now,
		Began:    now,
		Cause:    d.Cause,
		Because:  d.Because,
		For:      d.For.UID,
		Delay:    d.Delay,
		Deadline: deadlineOf(pod),
	}
	r.Next = successor(pod, r)
	return bus.Move{Pod: d.Pod, Move: r}, nil
}

// proposals returns the records of pods that move together, or of one that moves alone.
func (m *Mover) proposals(ctx context.Context, pods []*corev1.Pod, plan []rebalance.Decision, now time.Time) ([]bus.Move, error) {
	var gang *move.Gang
	if len(pods) > 1 {
		gang = &move.Gang{}
	}
	id := m.newID(now)
	var records []bus.Move
	for i, pod := range pods {
		record, err := m.proposal(ctx, id, pod, plan[i], now)
		if err != nil {
			return nil, err
		}
		if record.Move.Gang = gang; gang != nil {
			gang.Pods = append(gang.Pods, record.Move.Old)
		}
		records = append(records, record)
	}
	return records, nil
}

// write writes the records of a move that begins, in place of those of earlier ones. It reports whether no other replica was
// faster.
func (m *Mover) write(
	ctx context.Context, pods []*corev1.Pod, plan []rebalance.Decision, moves movesNow, now time.Time, guards ...bus.Guard,
) (bool, error) {
	records, err := m.proposals(ctx, pods, plan, now)
	if err != nil {
		return false, err
	}
	var writes []bus.Write
	for _, record := range records {
		value, err := bus.Encode(record)
		if err != nil {
			return false, err
		}
		key := bus.MoveKey(record.Pod.UID)
		writes = append(writes, bus.Write{Key: key, Value: value})
		if last, moved := moves.byPod[record.Pod.UID]; moved {
			guards = append(guards, bus.Unchanged(key, last.Revision))
		} else {
			guards = append(guards, bus.Absent(key))
		}
	}
	if _, err := m.Bus.Commit(ctx, writes, guards...); err != nil {
		if errors.Is(err, bus.ErrConflict) {
			return false, nil
		}
		return false, err
	}
	for _, record := range records {
		delete(m.settled, record.Pod.UID)
		m.note(record)
		m.Log.Info("a move begins", "pod", record.Pod, "move", record.Move.ID, "from", record.Move.From, "to", record.Move.To,
			"pods", len(records), "because", record.Move.Because)
		m.event(ctx, record.Pod, corev1.EventTypeNormal, "MoveBegan", began(records))
	}
	return true, nil
}

// maxNamed bounds the pods that an event names.
const maxNamed = 8

// began describes a move that begins.
func began(records []bus.Move) string {
	if len(records) > 1 {
		var each []string
		for _, record := range records[:min(len(records), maxNamed)] {
			each = append(each, "pod "+record.Pod.Name+" "+course(record.Move))
		}
		if len(records) > maxNamed {
			each = append(each, "and so on")
		}
		return fmt.Sprintf("The job moves with all of its %d pods: %s. All of them save first, or none moves", len(records), strings.Join(each, ", "))
	}
	r := records[0].Move
	message := fmt.Sprintf("The job moves from node %s to %s. It saves first", r.From, target(r.To))
	if r.Because != "" {
		message += ". The reason is: " + r.Because
	}
	return message
}

// course describes the move of one pod.
func course(r move.Record) string {
	if r.From == r.To {
		return "starts again on node " + string(r.To)
	}
	return fmt.Sprintf("moves from node %s to %s", r.From, target(r.To))
}
