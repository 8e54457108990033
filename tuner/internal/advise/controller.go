package advise

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
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Source provides snapshots of the bus.
type Source interface {
	Snapshot() (*history.Snapshot, <-chan struct{})
	// Turnover counts the jobs that have come, and those that have gone.
	Turnover() int
}

// Metrics records what a Controller does.
type Metrics interface {
	ObserveAllocation(took time.Duration)
	CountChange(action string)
}

// The actions of Metrics.CountChange.
const (
	Written   = "written"
	Withdrawn = "withdrawn"
	Conflict  = "conflict"
	Failed    = "failed"
)

// putTimeout bounds one write.
const putTimeout = 3 * time.Second

// Controller decides at an interval and writes the changes to the bus.
type Controller struct {
	Source  Source
	Writer  Writer
	Metrics Metrics
	Adviser *Adviser
	// Interval is the longest time between two rounds.
	Interval time.Duration
	Log      *slog.Logger
}

// soonest is the least time between two rounds, of which the second begins early because jobs have come or gone.
const soonest = 2 * time.Second

// Run decides and writes until ctx ends, for a term of leadership.
func (c *Controller) Run(ctx context.Context) {
	c.Adviser.Begin()
	for ctx.Err() == nil {
		turnover := c.Source.Turnover()
		c.sync(ctx)
		c.wait(ctx, turnover)
	}
}

// wait waits for the next round: for the interval, or until jobs have come or gone.
func (c *Controller) wait(ctx context.Context, turnover int) {
	next, look := time.NewTimer(c.Interval), time.NewTicker(soonest)
	defer next.Stop()
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if c.Source.Turnover() != turnover {
				return
			}
		case <-next.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *Controller) sync(ctx context.Context) {
	snapshot, _ := c.Source.Snapshot()
	start := time.Now()
	changes := c.Adviser.Decide(snapshot, start)
	c.Metrics.ObserveAllocation(time.Since(start))
	for _, change := range changes {
		action, err := c.apply(ctx, change)
		c.Metrics.CountChange(action)
		log := c.Log.With("pod", change.Pod.String(), "uid", change.Job, "action", action)
		switch {
		case errors.Is(err, bus.ErrConflict): // the next round uses the newer state
			log.Info("advice was based on an outdated state", "err", err)
		case err != nil:
			log.Warn("advice could not be written", "err", err)
			return // other writes would fail as well
		case change.Advice != nil:
			log.Info("advice", "loaders", loadersText(change.Advice), "batchSize", batchText(change.Advice), "generation",
				change.Advice.Generation, "reason", change.Advice.Reason, "batchReason", change.Advice.BatchReason,
				"resources", resourcesText(change.Advice))
		default:
			log.Info("advice withdrawn", "reason", "the job's sample is missing")
		}
	}
}

func (c *Controller) apply(ctx context.Context, change Change) (action string, err error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if change.Advice == nil {
		action = Withdrawn
		err = c.Writer.Delete(ctx, bus.AdviceKey(change.Job), change.Guard)
	} else {
		action = Written
		err = c.put(ctx, change)
	}
	switch {
	case errors.Is(err, bus.ErrConflict):
		action = Conflict
	case err != nil:
		action = Failed
	}
	return action, err
}

func (c *Controller) put(ctx context.Context, change Change) error {
	value, err := bus.Encode(*change.Advice)
	if err != nil {
		return err
	}
	_, err = c.Writer.Put(ctx, bus.AdviceKey(change.Job), value, bus.Persistent, change.Guard)
	return err
}
