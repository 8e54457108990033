package cache

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// Bus is the part of the bus that the view follows. Lists may come in parts: a large cluster's is larger than the view.
type Bus interface {
	WatchChunked(ctx context.Context, prefix string) <-chan bus.Batch
}

// Keeper keeps the view. Its informer handlers are in kube.go.
type Keeper struct {
	bus     Bus
	log     *slog.Logger
	changes chan Change
	state   *state
	current atomic.Pointer[Snapshot]
}

// NewKeeper returns a keeper of pods that ask for resource. It keeps nothing until Run.
func NewKeeper(b Bus, resource corev1.ResourceName, log *slog.Logger) *Keeper {
	k := &Keeper{bus: b, log: log, changes: make(chan Change, 1024), state: newState(resource)}
	k.current.Store(&Snapshot{})
	return k
}

// Snapshot returns the present instant. It is never nil.
func (k *Keeper) Snapshot() *Snapshot { return k.current.Load() }

// Run follows the bus and applies all changes until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	nodes, jobs := k.bus.WatchChunked(ctx, bus.Nodes), k.bus.WatchChunked(ctx, bus.Jobs)
	for {
		select {
		case change := <-k.changes:
			change(k)
		case batch := <-nodes:
			OnNodes(batch)(k)
		case batch := <-jobs:
			OnJobs(batch)(k)
		case <-ctx.Done():
			return nil
		}
		if len(k.changes) == 0 { // a burst becomes one snapshot
			k.publish()
		}
	}
}

// Step applies one change and publishes, for who steers all there is step by step. It must not be used beside Run.
func (k *Keeper) Step(change Change) {
	change(k)
	k.publish()
}

func (k *Keeper) publish() {
	last := k.Snapshot()
	next := k.state.snapshot(last)
	if next.Refused > last.Refused {
		k.log.Error("records on the bus can not be read and are left alone", "records", next.Refused, "one", k.state.aRefusal())
	}
	k.current.Store(next)
}

// follow applies a batch of one of the two watches and notes whether the bus is there.
func (k *Keeper) follow(link *link, batch bus.Batch, apply func(bus.Batch)) {
	if batch.Err != nil {
		if link.away == nil {
			link.since = time.Now()
			k.log.Warn("the bus is away: going on from the last snapshot", "reason", batch.Err)
		}
		link.away = batch.Err
		return
	}
	if link.away != nil {
		k.log.Info("the bus is back", "away", time.Since(link.since).Round(time.Millisecond))
	}
	link.away, link.listing = nil, batch.More
	link.synced = link.synced || !batch.More // the first batch is of a list
	if batch.Reset {
		link.revision = batch.Revision // also if it is smaller: a bus that was restored counts anew
	}
	link.revision = max(link.revision, batch.Revision)
	apply(batch)
}

// submit queues a change for Run. It gives up when ctx ends.
func (k *Keeper) submit(ctx context.Context, change Change) {
	select {
	case k.changes <- change:
	case <-ctx.Done():
	}
}
