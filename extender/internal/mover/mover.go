package mover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

const (
	// interval is the time between two passes.
	interval = time.Second
	// kept is how long the record of an ended move stays on the bus.
	kept = time.Hour
	// maxActive bounds the moves at the same time, so that a drained node does not overload the others' disks.
	maxActive = 4
)

// Bus is the part of the bus that a Mover needs.
type Bus interface {
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Cluster has the current snapshot of the cluster.
type Cluster interface{ Snapshot() *cache.Snapshot }

// Mover moves jobs. Run is for one goroutine; Place is safe for concurrent use.
type Mover struct {
	Client  kubernetes.Interface
	Bus     Bus
	Cluster Cluster
	// Unfit returns why a pod does not fit a node, or "".
	Unfit  func(pod *corev1.Pod, node growth.NodeName) string
	Limits move.Limits
	Log    *slog.Logger
	// Ended is called with the outcome and the duration of a move, by the replica that ends it.
	Ended func(state move.State, took time.Duration)

	active atomic.Pointer[[]active]
}

// active is a move whose successor has to be placed.
type active struct {
	pod    growth.PodRef
	record move.Record
}

// Run moves until ctx ends.
func (m *Mover) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			if err := m.Pass(ctx, now); err != nil && ctx.Err() == nil {
				m.Log.Warn("not every move could go on", "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Pass takes the next step of every move.
func (m *Mover) Pass(ctx context.Context, now time.Time) error {
	snapshot := m.Cluster.Snapshot()
	if !snapshot.Synced || snapshot.Unavailable != nil {
		return nil
	}
	entries, _, err := m.Bus.List(ctx, bus.Moves)
	if err != nil {
		return err
	}
	var errs []error
	var going []active
	known := map[growth.PodUID]bus.Entry{}
	for _, entry := range entries {
		record, err := bus.Decode[bus.Move](entry.Value)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", entry.Key, err))
			continue
		}
		known[record.Pod.UID] = entry
		if !record.Move.State.Final() {
			going = append(going, active{record.Pod, record.Move})
		}
	}
	m.active.Store(&going) // before anything is evicted
	for _, entry := range entries {
		if err := m.step(ctx, entry, now); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", entry.Key, err))
		}
	}
	return errors.Join(append(errs, m.propose(ctx, snapshot, known, len(going), now))...)
}

// step takes the next steps of one move, as far as what was observed goes.
func (m *Mover) step(ctx context.Context, entry bus.Entry, now time.Time) error {
	record, err := bus.Decode[bus.Move](entry.Value)
	if err != nil {
		return nil // it is reported
	}
	if record.Move.State.Final() && now.Sub(record.Move.Since) > kept {
		return m.Bus.Delete(ctx, entry.Key, bus.Unchanged(entry.Key, entry.Revision))
	}
	seen, err := m.look(ctx, record)
	if err != nil {
		return err
	}
	guard := bus.Unchanged(entry.Key, entry.Revision)
	for {
		next, changed := m.Limits.Next(record.Move, seen.Seen, now)
		if !changed {
			return m.act(ctx, record, seen)
		}
		before := record.Move
		record.Move = next
		value, err := bus.Encode(record)
		if err != nil {
			return err
		}
		revision, err := m.Bus.Put(ctx, entry.Key, value, bus.Persistent, guard)
		if errors.Is(err, bus.ErrConflict) {
			return nil // another replica was faster
		}
		if err != nil {
			return err
		}
		guard = bus.Unchanged(entry.Key, revision)
		m.announce(ctx, record, before, seen, now)
	}
}

// Place returns where a pod may run at present: see move.Record.Place.
func (m *Mover) Place(p move.Identity) move.Place {
	going := m.active.Load()
	if going == nil {
		return move.Place{}
	}
	for _, a := range *going {
		if a.record.Continues(p) {
			_, exists := m.Cluster.Snapshot().Pods.Get(a.record.Old)
			return a.record.Place(!exists)
		}
	}
	return move.Place{}
}
