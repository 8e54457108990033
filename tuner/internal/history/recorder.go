package history

import (
	"cmp"
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

	nodes, jobs, interference, peaks, loaders bus.Mirror[*entry]

	mu        sync.Mutex
	histories map[growth.PodUID]jobHistory
	turnover  int
	// snapshot is nil if the bus has changed since the last one.
	snapshot *Snapshot
	changed  chan struct{}
	// unavailable is the time since which the bus is unavailable; zero if it is not.
	unavailable time.Time
}

// NewRecorder returns a Recorder with an empty snapshot.
func NewRecorder(watcher Watcher, log *slog.Logger) *Recorder {
	return &Recorder{
		watcher:      watcher,
		log:          log,
		nodes:        bus.Mirror[*entry]{Decode: decode},
		jobs:         bus.Mirror[*entry]{Decode: decode},
		interference: bus.Mirror[*entry]{Decode: decode},
		peaks:        bus.Mirror[*entry]{Decode: decode},
		loaders:      bus.Mirror[*entry]{Decode: decode},
		histories:    map[growth.PodUID]jobHistory{},
		snapshot:     &Snapshot{},
		changed:      make(chan struct{}),
	}
}

// gather is the time in which changes of jobs are collected. Each batch copies the list of all jobs, and on a large cluster there would
// be a hundred batches in each second.
const gather = 500 * time.Millisecond

// Run follows the bus until ctx ends. Of the models it reads those that a snapshot has: the models of programs are many.
func (r *Recorder) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	nodes := r.watcher.Watch(ctx, bus.Nodes)
	jobs := r.watcher.Watch(ctx, bus.Jobs)
	interference := r.watcher.Watch(ctx, bus.ModelKey(bus.InterferenceModel))
	peaks := r.watcher.Watch(ctx, bus.ModelKey(bus.PeaksModel))
	loaders := r.watcher.Watch(ctx, bus.ModelKey(bus.LoadersModel))
	next := jobs // nil while changes are collected
	var gathered <-chan time.Time
	for {
		var batch bus.Batch
		var open bool
		mirror := &r.nodes
		select {
		case batch, open = <-nodes:
		case batch, open = <-next:
			mirror = &r.jobs
			next, gathered = nil, time.After(gather)
		case <-gathered:
			next = jobs
			continue
		case batch, open = <-interference:
			mirror = &r.interference
		case batch, open = <-peaks:
			mirror = &r.peaks
		case batch, open = <-loaders:
			mirror = &r.loaders
		case <-ctx.Done():
		}
		if !open {
			return context.Cause(ctx)
		}
		r.apply(mirror, batch, time.Now())
	}
}

// Snapshot returns the current snapshot and a channel that is closed when there is a newer one.
func (r *Recorder) Snapshot() (*Snapshot, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot == nil {
		r.snapshot = newSnapshot(r.nodes.View(), r.jobs.View(), r.interference.View(), r.peaks.View(), r.loaders.View(), r.histories)
		r.snapshot.UnavailableSince = r.unavailable
	}
	return r.snapshot, r.changed
}

// Turnover counts the jobs that have come, and those that have gone.
func (r *Recorder) Turnover() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turnover
}

// apply applies a batch. The next reader builds the snapshot: records change more often than anyone reads.
func (r *Recorder) apply(mirror *bus.Mirror[*entry], batch bus.Batch, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	view := mirror.Apply(batch)
	r.logUndecodable(batch, view)
	if mirror == &r.jobs {
		r.turnover += updateHistories(r.histories, view, batch)
	}
	r.noteAvailability(now)
	r.snapshot = nil
	close(r.changed)
	r.changed = make(chan struct{})
}

// noteAvailability records since when the bus is unavailable.
func (r *Recorder) noteAvailability(now time.Time) {
	err := cmp.Or(r.nodes.View().Err, r.jobs.View().Err, r.interference.View().Err, r.peaks.View().Err, r.loaders.View().Err)
	switch {
	case err != nil && r.unavailable.IsZero():
		r.unavailable = now
		r.log.Warn("the bus is unavailable: serving the last known state", "err", err)
	case err == nil && !r.unavailable.IsZero():
		r.log.Info("the bus is connected again", "unavailable", now.Sub(r.unavailable).Round(time.Second))
		r.unavailable = time.Time{}
	}
}

// logUndecodable logs the records of a batch that could not be decoded.
func (r *Recorder) logUndecodable(batch bus.Batch, view *bus.View[*entry]) {
	for _, e := range batch.Entries {
		if err := view.Undecodable[e.Key]; err != nil {
			r.log.Warn("an undecodable record is ignored", "key", e.Key, "err", err)
		}
	}
}
