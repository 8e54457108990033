package probes

import (
	"context"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// Watcher watches the bus.
type Watcher interface {
	Watch(ctx context.Context, prefix string) <-chan bus.Batch
}

// Connection is a Watcher that measures for how long the bus has been unavailable.
type Connection struct {
	Watcher

	mu    sync.Mutex
	since time.Time // zero while connected
}

// NewConnection wraps w. The bus counts as unavailable from now until its first batch.
func NewConnection(w Watcher, now time.Time) *Connection { return &Connection{Watcher: w, since: now} }

// Watch implements Watcher.
func (c *Connection) Watch(ctx context.Context, prefix string) <-chan bus.Batch {
	out := make(chan bus.Batch)
	go func() {
		defer close(out)
		for batch := range c.Watcher.Watch(ctx, prefix) {
			c.observe(batch.Err, time.Now())
			select {
			case out <- batch:
			case <-ctx.Done():
			}
		}
	}()
	return out
}

func (c *Connection) observe(err error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.since = time.Time{}
	case c.since.IsZero():
		c.since = now
	}
}

// Unavailable returns for how long the bus has been unavailable, 0 while it is connected.
func (c *Connection) Unavailable() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return 0
	}
	return time.Since(c.since)
}
