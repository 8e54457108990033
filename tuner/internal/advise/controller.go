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
	Source   Source
	Writer   Writer
	Metrics  Metrics
	Adviser  *Adviser
	Interval time.Duration
	Log      *slog.Logger
}

// Run decides and writes until ctx ends.
func (l *Controller) Run(ctx context.Context) {
	tick := time.NewTicker(l.Interval)
	defer tick.Stop()
	for {
		l.sync(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *Controller) sync(ctx context.Context) {
	snapshot, _ := l.Source.Snapshot()
	start := time.Now()
	changes := l.Adviser.Decide(snapshot, start)
	l.Metrics.ObserveAllocation(time.Since(start))
	for _, change := range changes {
		action, err := l.apply(ctx, change)
		l.Metrics.CountChange(action)
		log := l.Log.With("pod", change.Pod.String(), "uid", change.Job, "action", action)
		switch {
		case errors.Is(err, bus.ErrConflict): // the next round uses the newer state
			log.Info("advice was based on an outdated state", "err", err)
		case err != nil:
			log.Warn("advice could not be written", "err", err)
			return // other writes would fail as well
		case change.Advice != nil:
			log.Info("advice", "loaders", *change.Advice.Loaders, "generation", change.Advice.Generation, "reason",
				change.Advice.Reason)
		default:
			log.Info("advice withdrawn", "reason", "the job's sample is missing")
		}
	}
}

func (l *Controller) apply(ctx context.Context, change Change) (action string, err error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if change.Advice == nil {
		action = Withdrawn
		err = l.Writer.Delete(ctx, bus.AdviceKey(change.Job), change.Guard)
	} else {
		action = Written
		err = l.put(ctx, change)
	}
	switch {
	case errors.Is(err, bus.ErrConflict):
		action = Conflict
	case err != nil:
		action = Failed
	}
	return action, err
}

func (l *Controller) put(ctx context.Context, change Change) error {
	value, err := bus.Encode(*change.Advice)
	if err != nil {
		return err
	}
	_, err = l.Writer.Put(ctx, bus.AdviceKey(change.Job), value, bus.Persistent, change.Guard)
	return err
}
