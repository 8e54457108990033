package mover

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/rebalance"
)

// proposal returns the record of a move that begins.
func (m *Mover) proposal(ctx context.Context, pod *corev1.Pod, d rebalance.Decision, now time.Time) (bus.Move, error) {
	detaches, err := m.detaches(ctx, pod)
	if err != nil {
		return bus.Move{}, err
	}
	r := move.Record{
		ID:      m.newID(now),
		Old:     growth.PodUID(pod.UID),
		Bare:    metav1.GetControllerOf(pod) == nil,
		Detach:  detaches,
		From:    d.From,
		To:      d.To,
		State:   move.Proposed,
		Since:   now,
		Began:   now,
		Cause:   d.Cause,
		Because: d.Because,
		For:     d.For.UID,
		Delay:   d.Delay,
	}
	r.Next = successor(pod, r)
	return bus.Move{Pod: d.Pod, Move: r}, nil
}

// write writes the record of a move that begins, in place of that of an earlier one. It reports whether no other replica was
// faster.
func (m *Mover) write(
	ctx context.Context, pod *corev1.Pod, d rebalance.Decision, last *bus.Entry, now time.Time, guards ...bus.Guard,
) (bool, error) {
	record, err := m.proposal(ctx, pod, d, now)
	if err != nil {
		return false, err
	}
	value, err := bus.Encode(record)
	if err != nil {
		return false, err
	}
	key := bus.MoveKey(record.Pod.UID)
	guard := bus.Absent(key)
	if last != nil {
		guard = bus.Unchanged(key, last.Revision)
	}
	if _, err = m.Bus.Put(ctx, key, value, bus.Persistent, append(guards, guard)...); err != nil {
		if errors.Is(err, bus.ErrConflict) {
			return false, nil
		}
		return false, err
	}
	m.note(record)
	r := record.Move
	m.Log.Info("a move begins", "pod", record.Pod, "move", r.ID, "from", r.From, "to", r.To, "because", r.Because)
	message := fmt.Sprintf("The job moves from node %s to %s. It saves first", r.From, target(r.To))
	if r.Because != "" {
		message += ". The reason is: " + r.Because
	}
	m.event(ctx, pod, corev1.EventTypeNormal, "MoveBegan", message)
	return true, nil
}
