package history

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Watcher is the part of the bus that a Recorder reads.
type Watcher interface {
	Watch(ctx context.Context, prefix string) <-chan bus.Batch
}

// Recorder follows the bus. Run runs in one goroutine; Snapshot is safe for concurrent use.
type Recorder struct {
	watcher Watcher
	log     *slog.Logger

	nodes, jobs, models bus.Mirror[entry]
	histories           map[growth.PodUID]jobHistory

	mu       sync.Mutex
	snapshot *Snapshot
	changed  chan struct{}
}

// NewRecorder returns a Recorder with an empty snapshot.
func NewRecorder(watcher Watcher, log *slog.Logger) *Recorder {
	return &Recorder{
		watcher:  watcher,
		log:      log,
		nodes:    bus.Mirror[entry]{Decode: decode},
		jobs:     bus.Mirror[entry]{Decode: decode},
		models:   bus.Mirror[entry]{Decode: decode},
		snapshot: &Snapshot{},
		changed:  make(chan struct{}),
	}
}

// Run follows the bus until ctx ends.
func (r *Recorder) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	nodes := r.watcher.Watch(ctx, bus.Nodes)
	jobs := r.watcher.Watch(ctx, bus.Jobs)
	models := r.watcher.Watch(ctx, bus.Models)
	for {
		select {
		case batch, ok := <-nodes:
			if !ok {
				return context.Cause(ctx)
			}
			r.logUndecodable(batch, r.nodes.Apply(batch))
		case batch, ok := <-jobs:
			if !ok {
				return context.Cause(ctx)
			}
			r.logUndecodable(batch, r.jobs.Apply(batch))
			r.histories = updateHistories(r.histories, r.jobs.View())
		case batch, ok := <-models:
			if !ok {
				return context.Cause(ctx)
			}
			r.logUndecodable(batch, r.models.Apply(batch))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		r.publish(time.Now())
	}
}

// Snapshot returns the current snapshot and a channel that is closed when there is a newer one.
func (r *Recorder) Snapshot() (*Snapshot, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot, r.changed
}

func (r *Recorder) publish(now time.Time) {
	s := newSnapshot(r.nodes.View(), r.jobs.View(), r.models.View(), r.histories)
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.Err != nil {
		s.UnavailableSince = r.snapshot.UnavailableSince
		if s.UnavailableSince.IsZero() {
			s.UnavailableSince = now
			r.log.Warn("the bus is unavailable: serving the last known state", "err", s.Err)
		}
	} else if r.snapshot.Err != nil {
		r.log.Info("the bus is connected again", "unavailable", now.Sub(r.snapshot.UnavailableSince).Round(time.Second))
	}
	r.snapshot = s
	close(r.changed)
	r.changed = make(chan struct{})
}

// logUndecodable logs the records of a batch that could not be decoded.
func (r *Recorder) logUndecodable(batch bus.Batch, view *bus.View[entry]) {
	for _, e := range batch.Entries {
		if err := view.Undecodable[e.Key]; err != nil {
			r.log.Warn("an undecodable record is ignored", "key", e.Key, "err", err)
		}
	}
}
