package mover

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

// step takes the next steps of one move, as far as what was observed goes.
func (m *Mover) step(ctx context.Context, group []tracked, now time.Time) error {
	group, err := m.expire(ctx, group, now)
	if err != nil || !slices.ContainsFunc(group, func(t tracked) bool { return m.due(t.record.Move, now) }) {
		return err
	}
	for range maxActs {
		all, err := m.lookAtAll(ctx, group)
		if err != nil {
			return err
		}
		if err := m.advance(ctx, group, all, now); err != nil {
			if errors.Is(err, bus.ErrConflict) {
				return nil // another replica was faster
			}
			return err
		}
		acted, err := m.actOnAll(ctx, group, all)
		if err != nil {
			return err
		}
		if !acted {
			m.settle(group, now)
			return nil
		}
	}
	return nil
}

// expire deletes records that were kept for long enough, and returns the others.
func (m *Mover) expire(ctx context.Context, group []tracked, now time.Time) ([]tracked, error) {
	var errs []error
	group = slices.DeleteFunc(group, func(t tracked) bool {
		if !t.record.Move.State.Final() || now.Sub(t.record.Move.Since) <= kept {
			return false
		}
		delete(m.settled, t.record.Pod.UID)
		errs = append(errs, m.Bus.Delete(ctx, t.entry.Key, bus.Unchanged(t.entry.Key, t.entry.Revision)))
		return true
	})
	return group, errors.Join(errs...)
}

// due reports whether a move has to be looked at: it goes on, or has ended and may need something.
func (m *Mover) due(r move.Record, now time.Time) bool {
	last, settled := m.settled[r.Old]
	return !r.State.Final() || !settled || now.Sub(last) >= settledFor
}

func (m *Mover) settle(group []tracked, now time.Time) {
	for _, t := range group {
		if !t.record.Move.State.Final() {
			continue
		}
		if m.settled == nil {
			m.settled = map[growth.PodUID]time.Time{}
		}
		m.settled[t.record.Move.Old] = now
	}
}

// actOnAll acts on every pod of a move, also after an error with one of them, and reports whether it has changed an object.
func (m *Mover) actOnAll(ctx context.Context, group []tracked, all []seen) (bool, error) {
	acted := false
	var errs []error
	for i, t := range group {
		changed, err := m.act(ctx, t.record, all[i])
		acted = acted || changed
		errs = append(errs, err)
	}
	return acted, errors.Join(errs...)
}
