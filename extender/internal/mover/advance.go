package mover

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

// tracked is a record with its entry on the bus.
type tracked struct {
	record bus.Move
	entry  bus.Entry
}

// grouped returns the records of each move: one, or those of all pods of a gang.
func grouped(all []tracked) [][]tracked {
	var groups [][]tracked
	gangs := map[string]int{}
	for _, t := range all {
		i, known := gangs[t.record.Move.ID]
		if !known {
			i = len(groups)
			groups = append(groups, nil)
		}
		if t.record.Move.Gang != nil {
			gangs[t.record.Move.ID] = i
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

// advance replaces the records by those that follow from what was observed, until none differs.
func (m *Mover) advance(ctx context.Context, group []tracked, all []seen, now time.Time) error {
	observed := make([]move.Seen, len(all))
	for i := range all {
		observed[i] = all[i].Seen
	}
	for {
		records := make([]move.Record, len(group))
		for i, t := range group {
			records[i] = t.record.Move
		}
		next := m.Limits.Together(records, observed, now)
		if slices.Equal(next, records) {
			return nil
		}
		if err := m.replace(ctx, group, next, all, now); err != nil {
			return err
		}
	}
}

// replace replaces the records of a move in one transaction, if no other replica has changed any of them.
func (m *Mover) replace(ctx context.Context, group []tracked, next []move.Record, all []seen, now time.Time) error {
	var writes []bus.Write
	var guards []bus.Guard
	before, histories := make([]move.Record, len(group)), make([]move.History, len(group))
	past := sync.OnceValues(func() (map[string]remembered, error) { return m.history(ctx) })
	for i := range group {
		t := &group[i]
		before[i] = t.record.Move
		guards = append(guards, bus.Unchanged(t.entry.Key, t.entry.Revision))
		if next[i] == before[i] {
			continue
		}
		t.record.Move = next[i]
		origin, err := m.carry(ctx, &t.record, before[i], all[i], now)
		if err != nil {
			return err
		}
		writes = append(writes, origin...)
		value, err := bus.Encode(t.record)
		if err != nil {
			return err
		}
		writes = append(writes, bus.Write{Key: t.entry.Key, Value: value})
		if !next[i].State.Final() {
			continue
		}
		history, write, unchanged, err := m.remember(past, t.record, all[i], now)
		if err != nil {
			return err
		}
		histories[i], writes, guards = history, append(writes, write), append(guards, unchanged)
	}
	revision, err := m.Bus.Commit(ctx, writes, guards...)
	if err != nil {
		return err
	}
	for i := range group {
		t := &group[i]
		if next[i] == before[i] {
			continue
		}
		t.entry.Revision = revision
		m.note(t.record)
		if next[i].State.Final() {
			m.show(ctx, histories[i], all[i])
		}
		m.announce(ctx, t.record, before[i], all[i], now)
	}
	return nil
}

// note keeps a record for Place, before anything is done because of it.
func (m *Mover) note(record bus.Move) {
	var going []active
	for _, a := range *m.active.Load() {
		if a.pod.UID != record.Pod.UID {
			going = append(going, a)
		}
	}
	if !record.Move.State.Final() {
		going = append(going, active{record.Pod, record.Move})
	}
	m.active.Store(&going)
}
