package runs

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/daemon/records"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/programs"
)

// Watcher is the part of the bus that an Index and a Controller follow.
type Watcher interface {
	WatchChunked(ctx context.Context, prefix string) <-chan bus.Batch
}

// Summary describes the model of one program.
type Summary struct {
	Program  programs.ID
	Revision bus.Revision
	// Bytes is the size of the record on the bus, with its key.
	Bytes   int
	Runs    []RunID // the newest first
	Nodes   int     // with runs
	Used    time.Time
	Readers []string
	// Err is the reason why this build cannot read the record.
	Err error
}

// RunID identifies a run, and which one of its pod.
type RunID struct {
	Pod   growth.PodUID
	Ended int64 // in seconds
}

func idOf(r programs.Run) RunID { return RunID{Pod: r.Pod, Ended: r.Ended.Unix()} }

// Index follows the models of all programs. Run runs in one goroutine; the other methods are safe for concurrent use.
type Index struct {
	watcher Watcher
	log     *slog.Logger

	mu     sync.Mutex
	models map[string]Summary // by key
	bytes  int
	synced bool
	err    error
}

// NewIndex returns an empty index.
func NewIndex(watcher Watcher, log *slog.Logger) *Index {
	return &Index{watcher: watcher, log: log, models: map[string]Summary{}}
}

// Run follows the bus until ctx ends.
func (x *Index) Run(ctx context.Context) error {
	for batch := range x.watcher.WatchChunked(ctx, bus.Programs) {
		x.apply(batch)
	}
	return context.Cause(ctx)
}

// apply applies a batch. A list may come in several, of which the first has Reset set.
func (x *Index) apply(batch bus.Batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err = batch.Err; batch.Err != nil {
		return
	}
	if batch.Reset {
		x.models, x.bytes = map[string]Summary{}, 0
	}
	for _, key := range batch.Deleted {
		x.bytes -= x.models[key].Bytes
		delete(x.models, key)
	}
	for _, e := range batch.Entries {
		s, ok := summarize(e)
		if !ok {
			continue
		}
		if s.Err != nil {
			x.log.Warn("the model of a program is neither used nor changed", "key", e.Key, "err", s.Err)
		}
		x.bytes += s.Bytes - x.models[e.Key].Bytes
		x.models[e.Key] = s
	}
	x.synced = !batch.More
}

// summarize returns the summary of a record; false for a key that is none of a program.
func summarize(e bus.Entry) (Summary, bool) {
	key, err := bus.ParseKey(e.Key)
	if err != nil || key.Kind != bus.KindProgram {
		return Summary{}, false
	}
	s := Summary{Program: key.Program, Revision: e.Revision, Bytes: len(e.Key) + len(e.Value)}
	record, err := records.Read[bus.ProgramModel](e.Value)
	if err != nil {
		s.Err = err
		return s, true
	}
	s.Used, s.Readers = record.Used, record.Readers
	nodes := map[growth.NodeName]bool{}
	for _, r := range record.Runs[:min(len(record.Runs), programs.MaxRuns)] {
		s.Runs = append(s.Runs, idOf(r))
		nodes[r.Node] = true
	}
	s.Nodes = len(nodes)
	return s, true
}

// State returns the summaries, those used last first. synced is false while the bus is read. err is set while it is
// unavailable.
func (x *Index) State() (all []Summary, synced bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.models {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Summary) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Program.String(), b.Program.String()))
	})
	return all, x.synced, x.err
}

// ready reports whether the index is complete and up to date.
func (x *Index) ready() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.synced && x.err == nil
}

// outdated returns the shared models with other readers than those given.
func (x *Index) outdated(readers []string) (ids []programs.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.models {
		if s.Program.Namespace == programs.Shared && s.Err == nil && !slices.Equal(s.Readers, readers) {
			ids = append(ids, s.Program)
		}
	}
	return ids
}

// Size returns the number of programs and the size of their records.
func (x *Index) Size() (count, bytes int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.models), x.bytes
}

// has reports whether all runs are in the model of a program, or later ones of their pods.
func (x *Index) has(program programs.ID, runs []RunID) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.models[bus.ProgramKey(program)]
	return !slices.ContainsFunc(runs, func(r RunID) bool {
		return !slices.ContainsFunc(s.Runs, func(known RunID) bool { return known.Pod == r.Pod && known.Ended >= r.Ended })
	})
}
