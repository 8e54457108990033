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
	"github.com/trellis-gpu/trellis/growth/placement"
)

const (
	// idleInterval is the time between two passes while no move is active, busyInterval while one is.
	idleInterval = time.Second
	busyInterval = 200 * time.Millisecond
	// maxActs bounds the calls for one move in a pass.
	maxActs = 6
	// settledFor is how long an ended move that needs nothing is not looked at again.
	settledFor = 30 * time.Second
	// kept is how long the record of an ended move stays on the bus.
	kept = time.Hour
	// maxActive bounds the moves at the same time, so that a drained node does not overload the others' disks.
	maxActive = 4
)

// Bus is the part of the bus that a Mover needs.
type Bus interface {
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
	Commit(ctx context.Context, writes []bus.Write, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Cluster has the current snapshot of the cluster.
type Cluster interface{ Snapshot() *cache.Snapshot }

// Memory reserves GPU memory on the target of a move.
type Memory interface {
	Hold(ctx context.Context, old growth.PodUID, on growth.NodeName) error
	Drop(ctx context.Context, old growth.PodRef, on growth.NodeName) (released bool, err error)
}

// Mover moves jobs. Run is for one goroutine; Place is safe for concurrent use.
type Mover struct {
	Client  kubernetes.Interface
	Bus     Bus
	Cluster Cluster
	// Unfit returns why a pod does not fit a node, or "".
	Unfit  func(pod *corev1.Pod, node growth.NodeName) string
	Memory Memory
	Limits move.Limits
	Log    *slog.Logger
	// Mode is which jobs move.
	Mode Mode
	// Policy chooses GPUs. Protected returns the disruption budget that permits no eviction of a pod, or "". SharedPaths are the
	// folders of nodes that are the same on all of them. They are for moves without a request.
	Policy      placement.Policy
	Protected   func(pod *corev1.Pod) string
	SharedPaths []string
	// Ended is called with the outcome and the duration of a move, by the replica that ends it.
	Ended func(state move.State, took time.Duration)

	active  atomic.Pointer[[]active]    // nil before the first list
	settled map[growth.PodUID]time.Time // when the ended move of a pod was last seen to need nothing
	last    int64                       // number of the last move that this replica has begun
	decided time.Time                   // when moves without a request were last considered
	left    map[growth.PodUID]leftAlone // the jobs that are not moved without a request for a while
}

// active is a move whose successor has to be placed.
type active struct {
	pod    growth.PodRef
	record move.Record
}

// Run moves until ctx ends.
func (m *Mover) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case now := <-timer.C:
			if err := m.Pass(ctx, now); err != nil && ctx.Err() == nil {
				m.Log.Warn("not every move could go on", "err", err)
			}
			timer.Reset(m.interval())
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *Mover) interval() time.Duration {
	if going := m.active.Load(); going == nil || len(*going) > 0 {
		return busyInterval
	}
	return idleInterval
}

// Pass takes the next step of every move.
func (m *Mover) Pass(ctx context.Context, now time.Time) error {
	snapshot := m.Cluster.Snapshot()
	if !snapshot.Synced || snapshot.Unavailable != nil {
		return nil
	}
	entries, revision, err := m.Bus.List(ctx, bus.Moves)
	if err != nil {
		return err
	}
	var errs []error
	var going []active
	moves := movesNow{byPod: map[growth.PodUID]bus.Entry{}, revision: revision}
	for _, entry := range entries {
		record, err := bus.Decode[bus.Move](entry.Value)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", entry.Key, err))
			continue
		}
		moves.byPod[record.Pod.UID], moves.records = entry, append(moves.records, record)
		if !record.Move.State.Final() {
			going = append(going, active{record.Pod, record.Move})
		}
	}
	m.active.Store(&going)
	for _, entry := range entries {
		if err := m.step(ctx, entry, now); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", entry.Key, err))
		}
	}
	errs = append(errs, m.propose(ctx, snapshot, moves.byPod, len(going), now), m.decide(ctx, snapshot, moves, now))
	return errors.Join(errs...)
}

// step takes the next steps of one move, as far as what was observed goes.
func (m *Mover) step(ctx context.Context, entry bus.Entry, now time.Time) error {
	record, err := bus.Decode[bus.Move](entry.Value)
	if err != nil {
		return nil // it is reported
	}
	if record.Move.State.Final() && now.Sub(record.Move.Since) > kept {
		delete(m.settled, record.Pod.UID)
		return m.Bus.Delete(ctx, entry.Key, bus.Unchanged(entry.Key, entry.Revision))
	}
	if last, settled := m.settled[record.Pod.UID]; settled && record.Move.State.Final() && now.Sub(last) < settledFor {
		return nil
	}
	for range maxActs {
		s, err := m.look(ctx, record)
		if err != nil {
			return err
		}
		if entry.Revision, err = m.advance(ctx, &record, entry, s, now); err != nil {
			if errors.Is(err, bus.ErrConflict) {
				return nil // another replica was faster
			}
			return err
		}
		acted, err := m.act(ctx, record, s)
		if err != nil {
			return err
		}
		if !acted {
			m.settle(record.Move, now)
			return nil
		}
	}
	return nil
}

func (m *Mover) settle(r move.Record, now time.Time) {
	if !r.State.Final() {
		return
	}
	if m.settled == nil {
		m.settled = map[growth.PodUID]time.Time{}
	}
	m.settled[r.Old] = now
}

// advance replaces the record by those that follow from what was observed, and returns the revision of the last one.
func (m *Mover) advance(ctx context.Context, record *bus.Move, entry bus.Entry, s seen, now time.Time) (bus.Revision, error) {
	for {
		next, changed := m.Limits.Next(record.Move, s.Seen, now)
		if !changed {
			return entry.Revision, nil
		}
		before := record.Move
		record.Move = next
		value, err := bus.Encode(*record)
		if err != nil {
			return 0, err
		}
		writes, guards := []bus.Write{{Key: entry.Key, Value: value}}, []bus.Guard{bus.Unchanged(entry.Key, entry.Revision)}
		var history move.History
		if next.State.Final() {
			h, write, unchanged, err := m.remember(ctx, *record, s, now)
			if err != nil {
				return 0, err
			}
			history, writes, guards = h, append(writes, write), append(guards, unchanged)
		}
		if entry.Revision, err = m.Bus.Commit(ctx, writes, guards...); err != nil {
			return 0, err
		}
		m.note(*record)
		if next.State.Final() {
			m.show(ctx, history, s)
		}
		m.announce(ctx, *record, before, s, now)
	}
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
