package learn

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

// Learner learns from snapshots. T is the record of what it has learned.
type Learner[T any] interface {
	// Load replaces what was learned by a record; nil for none. It is called at the start of a term of leadership, and once another
	// process has written the record.
	Load(record *T)
	Observe(s *history.Snapshot, now time.Time)
	// Record returns the record, and whether it has changed since Saved, which reports that the last one is on the bus.
	Record() (record T, changed bool)
	Saved()
}

const (
	// learnInterval is the time between two looks at the jobs, writeInterval the least time between two writes.
	learnInterval, writeInterval = 10 * time.Second, time.Minute
	// putTimeout bounds one write.
	putTimeout = 3 * time.Second
)

// The results of writes.
const (
	Written  = "written"
	Conflict = "conflict"
	Failed   = "failed"
)

// Controller lets a Learner learn, and keeps its record on the bus. Use Run while this process is the leader.
type Controller[T any, R bus.Record[T]] struct {
	Source  Source
	Writer  Writer
	Learner Learner[T]
	Log     *slog.Logger
	// Begin is called at the start of a term of leadership, before the record is loaded; nil does nothing.
	Begin func()
	// Count counts the writes by their result; nil does not.
	Count func(result string)
	// Name is that of the model on the bus.
	Name string
	// Of returns the record in a snapshot, nil if there is none, and its revision.
	Of func(*history.Snapshot) (*T, bus.Revision)

	loaded  bool
	based   bus.Revision
	written time.Time
	foreign string // why the record on the bus cannot be decoded
}

// Run learns until ctx ends.
func (c *Controller[T, R]) Run(ctx context.Context) {
	c.loaded, c.written = false, time.Time{}
	if c.Begin != nil {
		c.Begin()
	}
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

func (c *Controller[T, R]) sync(ctx context.Context, now time.Time) {
	s, _ := c.Source.Snapshot()
	if !s.Synced || s.Err != nil {
		return
	}
	if present, revision := c.Of(s); !c.loaded || revision > c.based {
		c.Learner.Load(present)
		c.loaded, c.based = true, revision
	}
	c.Learner.Observe(s, now)
	record, changed := c.Learner.Record()
	if c.isForeign(s) || !changed || now.Sub(c.written) < writeInterval {
		return
	}
	c.written = now
	revision, err := c.put(ctx, record)
	switch {
	case err == nil:
		c.based = revision
		c.Learner.Saved()
		c.count(Written)
	case errors.Is(err, bus.ErrConflict):
		c.loaded = false // start again from the record on the bus
		c.count(Conflict)
		c.Log.Info("a model has changed on the bus", "model", c.Name, "err", err)
	default:
		c.count(Failed)
		c.Log.Warn("a model could not be written", "model", c.Name, "err", err)
	}
}

// isForeign reports whether this build cannot decode the model on the bus, so that it must not change it.
func (c *Controller[T, R]) isForeign(s *history.Snapshot) bool {
	key := bus.ModelKey(c.Name)
	err := s.Undecodable[key]
	if err == nil {
		c.foreign = ""
		return false
	}
	if c.foreign != err.Error() {
		c.Log.Warn("a model is neither used nor changed: run the release that has written it, or delete its key to learn again",
			"key", key, "err", err)
	}
	c.foreign = err.Error()
	return true
}

func (c *Controller[T, R]) count(result string) {
	if c.Count != nil {
		c.Count(result)
	}
}

func (c *Controller[T, R]) put(ctx context.Context, record T) (bus.Revision, error) {
	value, err := bus.Encode[T, R](record)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	key := bus.ModelKey(c.Name)
	return c.Writer.Put(ctx, key, value, bus.Persistent, bus.Unchanged(key, c.based))
}
