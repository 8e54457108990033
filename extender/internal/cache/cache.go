package cache

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// Bus is the part of the bus that the cache watches. Lists may arrive in parts: a large cluster's is larger than the cache.
type Bus interface {
	WatchChunked(ctx context.Context, prefix string) <-chan bus.Batch
}

// Cache keeps the current snapshot.
type Cache struct {
	bus     Bus
	log     *slog.Logger
	changes chan Change
	state   *state
	current atomic.Pointer[Snapshot]
}

// New returns a cache for pods that request a resource. It is empty until Run.
func New(b Bus, resource corev1.ResourceName, log *slog.Logger) *Cache {
	c := &Cache{
		bus:     b,
		log:     log,
		changes: make(chan Change, 1024),
		state:   newState(resource),
	}
	c.current.Store(&Snapshot{})
	return c
}

// Snapshot returns the current snapshot. It is never nil.
func (c *Cache) Snapshot() *Snapshot { return c.current.Load() }

// Run watches the bus and applies all changes until ctx ends.
func (c *Cache) Run(ctx context.Context) error {
	nodes, jobs := c.bus.WatchChunked(ctx, bus.Nodes), c.bus.WatchChunked(ctx, bus.Jobs)
	for {
		select {
		case change := <-c.changes:
			change(c)
		case batch := <-nodes:
			OnNodes(batch)(c)
		case batch := <-jobs:
			OnJobs(batch)(c)
		case <-ctx.Done():
			return nil
		}
		if len(c.changes) == 0 { // a burst becomes one snapshot
			c.publish()
		}
	}
}

// Step applies one change and publishes. It is for callers that control every step, and excludes Run.
func (c *Cache) Step(change Change) {
	change(c)
	c.publish()
}

func (c *Cache) publish() {
	last := c.Snapshot()
	next := c.state.snapshot(last)
	if next.Refused > last.Refused {
		c.log.Error("records on the bus cannot be read and are ignored", "records", next.Refused, "example", c.state.refusal())
	}
	c.current.Store(next)
}

// apply applies a batch of one of the two watches, and notes whether the bus is connected.
func (c *Cache) apply(watch *watchState, batch bus.Batch, apply func(bus.Batch)) {
	if batch.Err != nil {
		if watch.unavailable == nil {
			watch.since = time.Now()
			c.log.Warn("the bus is unavailable: the last snapshot stays", "err", batch.Err)
		}
		watch.unavailable = batch.Err
		return
	}
	if watch.unavailable != nil {
		c.log.Info("the bus is connected again", "after", time.Since(watch.since).Round(time.Millisecond))
	}
	watch.unavailable, watch.listing = nil, batch.More
	watch.synced = watch.synced || !batch.More // the first batch is of a list
	if batch.Reset {
		watch.revision = batch.Revision // even if it is smaller: a restored bus may have lost revisions
	}
	watch.revision = max(watch.revision, batch.Revision)
	apply(batch)
}

// submit queues a change for Run. It gives up when ctx ends.
func (c *Cache) submit(ctx context.Context, change Change) {
	select {
	case c.changes <- change:
	case <-ctx.Done():
	}
}
