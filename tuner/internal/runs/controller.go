package runs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/programs"
)

// Bus is the part of the bus that a Controller uses.
type Bus interface {
	Watcher
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Metrics records what a Controller does.
type Metrics interface {
	CountRuns(result string, n int)
	CountProgramWrite(result string)
}

// The results of Metrics.
const (
	Merged   = "merged"
	Refused  = "refused"
	Written  = "written"
	Dropped  = "dropped"
	Conflict = "conflict"
	Failed   = "failed"
)

const (
	// MaxPrograms bounds the models on the bus.
	MaxPrograms = 10_000
	// MaxBytes bounds their sizes together.
	MaxBytes = 48 << 20
)

const (
	// roundInterval is the time between two rounds, roundWrites the most models that one round reads or writes.
	roundInterval, roundWrites = 5 * time.Second, 100
	// requestTimeout bounds one request.
	requestTimeout = 3 * time.Second
)

// Controller merges the runs of all nodes into models. Use Run while this process is the leader.
type Controller struct {
	Bus     Bus
	Index   *Index
	Metrics Metrics
	Log     *slog.Logger
	Sharing Sharing
	// Running returns the programs of the jobs that run now.
	Running func() map[programs.ID]bool

	pending map[programs.ID]map[growth.NodeName]learned // by model
}

// learned are the runs of one node that may not be part of a model yet, by the program that they are of.
type learned map[programs.ID][]programs.Run

// Run merges until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	c.pending = map[programs.ID]map[growth.NodeName]learned{}
	tick := time.NewTicker(roundInterval)
	defer tick.Stop()
	batches := c.Bus.WatchChunked(ctx, bus.Runs)
	for {
		select {
		case batch, open := <-batches:
			if !open {
				return
			}
			c.receive(batch)
		case <-tick.C:
			if c.Index.ready() {
				c.round(ctx, time.Now())
			}
		case <-ctx.Done():
			return
		}
	}
}

// receive notes the runs of a batch. A deleted record changes nothing: its runs stay in their model.
func (c *Controller) receive(batch bus.Batch) {
	for _, e := range batch.Entries {
		key, err := bus.ParseKey(e.Key)
		if err != nil || key.Kind != bus.KindRuns {
			c.Log.Warn("a record with runs is ignored", "key", e.Key, "err", err)
			continue
		}
		record, err := bus.Decode[bus.ProgramRuns](e.Value)
		if err != nil {
			c.Metrics.CountRuns(Refused, 1)
			c.Log.Warn("a record with runs is ignored", "key", e.Key, "err", err)
			continue
		}
		model := c.Sharing.target(key.Program)
		if c.pending[model] == nil {
			c.pending[model] = map[growth.NodeName]learned{}
		}
		if c.pending[model][key.Node] == nil {
			c.pending[model][key.Node] = learned{}
		}
		c.pending[model][key.Node][key.Program] = record.Runs
	}
}

// round merges what is pending, adapts shared models to the present sharing, and drops what is too much.
func (c *Controller) round(ctx context.Context, now time.Time) {
	left := roundWrites
	models := slices.SortedFunc(maps.Keys(c.pending), func(a, b programs.ID) int { return cmp.Compare(a.String(), b.String()) })
	for _, id := range append(models, c.Index.outdated(c.Sharing)...) {
		if left == 0 {
			return
		}
		if c.known(id) {
			delete(c.pending, id)
			continue
		}
		left--
		switch err := c.merge(ctx, id, now); {
		case errors.Is(err, bus.ErrConflict): // the next round extends the newer model
			c.Metrics.CountProgramWrite(Conflict)
		case err != nil:
			c.Metrics.CountProgramWrite(Failed)
			c.Log.Warn("the model of a program could not be written", "program", id, "err", err)
			return // other writes would fail as well
		default:
			delete(c.pending, id)
		}
	}
	c.drop(ctx, left)
}

// known reports whether the model has all pending runs, as after a change of the leader.
func (c *Controller) known(id programs.ID) bool {
	var runs []RunID
	for _, node := range c.pending[id] {
		for _, all := range node {
			for _, r := range all {
				runs = append(runs, idOf(r))
			}
		}
	}
	return len(runs) > 0 && c.Index.has(id, runs)
}

// merge merges the pending runs of a model.
func (c *Controller) merge(ctx context.Context, id programs.ID, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	record, revision, err := c.read(ctx, id)
	if err != nil {
		if errors.Is(err, bus.ErrVersion) {
			return nil // another release has written it, and the index has logged it
		}
		return err
	}
	before := len(record.Runs)
	c.Sharing.apply(id, &record.Model)
	changed := len(record.Runs) != before || id.Namespace == programs.Shared && !slices.Equal(record.Readers, c.Sharing)
	for node, of := range c.pending[id] {
		for program, runs := range of {
			merged, refused := record.Merge(program, node, runs, now)
			changed = changed || merged > 0
			c.Metrics.CountRuns(Merged, merged)
			c.Metrics.CountRuns(Refused, len(refused))
			if len(refused) > 0 {
				c.Log.Warn("invalid runs of a program are refused", "program", program, "node", node, "count", len(refused),
					"err", refused[0])
			}
		}
	}
	key := bus.ProgramKey(id)
	if len(record.Runs) == 0 {
		return c.Bus.Delete(ctx, key, bus.Unchanged(key, revision))
	}
	if !changed && revision != 0 {
		return nil
	}
	record.Used = now.UTC().Truncate(24 * time.Hour)
	value, err := bus.Encode(record)
	if err != nil {
		return err
	}
	if _, err = c.Bus.Put(ctx, key, value, bus.Persistent, bus.Unchanged(key, revision)); err == nil {
		c.Metrics.CountProgramWrite(Written)
		c.Log.Debug("merged the runs of a program", "program", id, "runs", len(record.Runs))
	}
	return err
}

// read returns a model with its revision; 0 if there is none. A model with impossible content counts as an empty one.
func (c *Controller) read(ctx context.Context, id programs.ID) (record bus.ProgramModel, revision bus.Revision, err error) {
	entries, _, err := c.Bus.List(ctx, bus.ProgramKey(id))
	if err != nil || len(entries) == 0 {
		return record, 0, err
	}
	revision = entries[0].Revision
	record, err = bus.Decode[bus.ProgramModel](entries[0].Value)
	switch {
	case errors.Is(err, bus.ErrVersion):
		return record, revision, err
	case err != nil:
		c.Log.Warn("the model of a program is invalid: it is replaced", "program", id, "err", err)
		return bus.ProgramModel{}, revision, nil
	}
	if refused := record.Validate(); len(refused) > 0 {
		c.Log.Warn("invalid runs of a model are removed", "program", id, "count", len(refused), "err", refused[0])
	}
	return record, revision, nil
}

// drop deletes models until the rest is within the bounds, at most left of them.
func (c *Controller) drop(ctx context.Context, left int) {
	count, bytes := c.Index.Size()
	if count <= MaxPrograms && bytes <= MaxBytes {
		return
	}
	all, _, _ := c.Index.State()
	running := map[programs.ID]bool{}
	for program := range c.Running() {
		running[c.Sharing.target(program)] = true
	}
	isRunning := func(s Summary) int {
		if running[s.Program] {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b Summary) int {
		return cmp.Or(cmp.Compare(isRunning(a), isRunning(b)), a.Used.Compare(b.Used))
	})
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for _, s := range all[:min(left, len(all))] {
		if count <= MaxPrograms && bytes <= MaxBytes {
			return
		}
		key := bus.ProgramKey(s.Program)
		if err := c.Bus.Delete(ctx, key, bus.Unchanged(key, s.Revision)); err != nil {
			c.Log.Warn("the model of a program could not be dropped", "program", s.Program, "err", err)
			return
		}
		c.Metrics.CountProgramWrite(Dropped)
		c.Log.Info("dropped the model of a program that was not used for long", "program", s.Program, "used", s.Used)
		count--
		bytes -= s.Bytes
	}
}
