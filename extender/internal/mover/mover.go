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
	// maxActs bounds how often a pass looks at one move, and acts.
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
	Held(old growth.PodUID, on growth.NodeName) bool
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
	// Policy chooses GPUs. Protected returns the disruption budget that does not permit the eviction of all of the pods, or "".
	Policy    placement.Policy
	Protected func(pods ...*corev1.Pod) string
	// SharedPaths are the folders of nodes that are the same on all of them.
	SharedPaths []string
	// Ended is called with the outcome and the duration of a move, by the replica that ends it.
	Ended func(state move.State, took time.Duration)

	active   atomic.Pointer[[]active]    // nil before the first list
	requests map[string]requests         // to the pods of gangs, by the gangs' names
	settled  map[growth.PodUID]time.Time // when the ended move of a pod was last seen to need nothing
	last     int64                       // number of the last move that this replica has begun
	decided  time.Time                   // when moves without a request were last considered
	left     map[growth.PodUID]leftAlone // the jobs that are not moved without a request for a while

	explained map[growth.PodUID]bool // the jobs whose users know that they are never moved
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

// policy returns how GPUs are chosen by what a snapshot knows.
func (m *Mover) policy(snapshot *cache.Snapshot) placement.Policy {
	informed, _ := placement.Predicting(m.Policy, snapshot.Model(), snapshot.Stay)
	return informed
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
	var all []tracked
	moves := movesNow{byPod: map[growth.PodUID]bus.Entry{}, revision: revision}
	for _, entry := range entries {
		record, err := bus.Decode[bus.Move](entry.Value)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", entry.Key, err))
			continue
		}
		moves.byPod[record.Pod.UID], moves.records = entry, append(moves.records, record)
		all = append(all, tracked{record, entry})
		if !record.Move.State.Final() {
			going = append(going, active{record.Pod, record.Move})
		}
	}
	m.active.Store(&going)
	for _, group := range grouped(all) {
		key := group[0].entry.Key
		if err := m.step(ctx, group, now); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	errs = append(errs, m.propose(ctx, snapshot, moves, now), m.decide(ctx, snapshot, moves, now))
	return errors.Join(errs...)
}
