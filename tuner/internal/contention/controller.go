package contention

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// Writer is the part of the bus that a Controller writes.
type Writer interface {
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
}

// Source provides snapshots of the bus.
type Source interface {
	Snapshot() (*history.Snapshot, <-chan struct{})
}

// Metrics records what a Controller does.
type Metrics interface {
	CountMeasurements(result string, n int)
	CountModelWrite(result string)
}

// The results of Metrics.
const (
	Learned  = "learned"
	Invalid  = "invalid"
	Written  = "written"
	Conflict = "conflict"
	Failed   = "failed"
)

const (
	// learnInterval is the time between two looks at the speeds, writeInterval the least time between two writes.
	learnInterval, writeInterval = 10 * time.Second, time.Minute
	// putTimeout bounds one write.
	putTimeout = 3 * time.Second
)

// Controller learns from the speeds of all nodes and writes the model. Use Run while this process is the leader.
type Controller struct {
	Source  Source
	Writer  Writer
	Metrics Metrics
	Log     *slog.Logger

	learning *learning
	written  time.Time
	refused  string
}

// Run learns until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	c.learning = nil
	c.written = time.Time{}
	tick := time.NewTicker(learnInterval)
	defer tick.Stop()
	for {
		c.sync(ctx, time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Controller) sync(ctx context.Context, now time.Time) {
	s, _ := c.Source.Snapshot()
	if !s.Synced || s.Err != nil || c.refuse(s) {
		return
	}
	if c.learning == nil || s.InterferenceRevision > c.learning.based {
		var err error
		if c.learning, err = load(s); err != nil {
			c.Log.Warn("the model of interference is invalid: learning starts again", "err", err)
		}
	}
	learned, invalid := c.learning.learn(s)
	c.Metrics.CountMeasurements(Learned, learned)
	c.Metrics.CountMeasurements(Invalid, len(invalid))
	if len(invalid) > 0 {
		c.Log.Warn("invalid measurements of speeds are ignored", "count", len(invalid), "err", invalid[0])
	}
	if c.learning.changed && now.Sub(c.written) >= writeInterval {
		c.write(ctx, now)
	}
}

// refuse reports whether this build cannot decode the model on the bus, so that it must not change it.
func (c *Controller) refuse(s *history.Snapshot) bool {
	key := bus.ModelKey(bus.InterferenceModel)
	err := s.Undecodable[key]
	if err == nil {
		c.refused = ""
		return false
	}
	if c.refused != err.Error() {
		c.Log.Warn("the model of interference is neither used nor changed: run the release that has written it, or delete its "+
			"key to learn again", "key", key, "err", err)
	}
	c.refused = err.Error()
	c.learning = nil
	return true
}

func (c *Controller) write(ctx context.Context, now time.Time) {
	c.written = now
	revision, err := c.put(ctx)
	switch {
	case err == nil:
		c.learning.based = revision
		c.learning.changed = false
		c.Metrics.CountModelWrite(Written)
	case errors.Is(err, bus.ErrConflict):
		c.learning = nil // start again from the record on the bus
		c.Metrics.CountModelWrite(Conflict)
		c.Log.Info("the model of interference has changed on the bus", "err", err)
	default:
		c.Metrics.CountModelWrite(Failed)
		c.Log.Warn("the model of interference could not be written", "err", err)
	}
}

func (c *Controller) put(ctx context.Context) (bus.Revision, error) {
	value, err := bus.Encode(c.learning.record())
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	key := bus.ModelKey(bus.InterferenceModel)
	return c.Writer.Put(ctx, key, value, bus.Persistent, bus.Unchanged(key, c.learning.based))
}
