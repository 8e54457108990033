package resources

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

const (
	// learnInterval is the time between two looks at the jobs, writeInterval the least time between two writes.
	learnInterval, writeInterval = 10 * time.Second, time.Minute
	// putTimeout bounds one write.
	putTimeout = 3 * time.Second
)

// Controller lets a Learner learn, and keeps what it has learned on the bus. Use Run while this process is the leader.
type Controller struct {
	Source  Source
	Writer  Writer
	Learner *Learner
	Log     *slog.Logger

	loaded  bool
	based   bus.Revision
	written time.Time
}

// Run learns until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	c.loaded, c.written = false, time.Time{}
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
	if !s.Synced || s.Err != nil {
		return
	}
	if !c.loaded || s.PeaksRevision > c.based {
		c.Learner.Load(s.Peaks)
		c.loaded, c.based = true, s.PeaksRevision
	}
	c.Learner.Observe(s)
	record, changed := c.Learner.Record()
	key := bus.ModelKey(bus.PeaksModel)
	if !changed || now.Sub(c.written) < writeInterval || s.Undecodable[key] != nil {
		return // a record of a newer release is not overwritten
	}
	c.written = now
	revision, err := c.put(ctx, key, record)
	switch {
	case err == nil:
		c.based = revision
		c.Learner.Saved()
	case errors.Is(err, bus.ErrConflict):
		c.loaded = false // start again from the record on the bus
		c.Log.Info("what is known about the peaks of jobs has changed on the bus", "err", err)
	default:
		c.Log.Warn("what is known about the peaks of jobs could not be written", "err", err)
	}
}

func (c *Controller) put(ctx context.Context, key string, record bus.Peaks) (bus.Revision, error) {
	value, err := bus.Encode(record)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	return c.Writer.Put(ctx, key, value, bus.Persistent, bus.Unchanged(key, c.based))
}
