package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"
)

// interval is the time between two passes.
const interval = 5 * time.Second

// Bus is the part of the bus that a Changer needs.
type Bus interface {
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Cluster has the current snapshot of the cluster.
type Cluster interface{ Snapshot() *cache.Snapshot }

// Changer changes the numbers of workers of jobs. Run is for one goroutine.
type Changer struct {
	Client  kubernetes.Interface
	Bus     Bus
	Cluster Cluster
	Limits  elastic.Limits
	Log     *slog.Logger

	scales scales
	// explained are the recommended numbers that owners cannot have, by the last pass. An event says so of each.
	explained map[types.UID]int
}

// Run changes numbers of workers until ctx ends.
func (c *Changer) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			if err := c.Pass(ctx, now); err != nil && ctx.Err() == nil {
				c.Log.Warn("not every number of workers could be looked at", "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Pass takes the next step of every change.
func (c *Changer) Pass(ctx context.Context, now time.Time) error {
	snapshot := c.Cluster.Snapshot()
	if !snapshot.Synced || snapshot.Unavailable != nil {
		return nil
	}
	namespaces := map[string]bool{}
	for _, pod := range snapshot.Pods.All() {
		if pod.Elastic && !pod.Ended {
			namespaces[pod.Ref.Namespace] = true
		}
	}
	var errs []error
	explained := map[types.UID]int{}
	for namespace := range namespaces {
		jobs, err := c.jobs(ctx, namespace)
		errs = append(errs, err)
		for _, j := range jobs {
			if err := c.step(ctx, j, now); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", j.owner, err))
			}
			if j.refused != 0 {
				explained[j.owner.UID] = j.refused
			}
		}
	}
	c.explained = explained
	return errors.Join(append(errs, c.forget(ctx, now))...)
}

// step takes the next steps of the change of one job.
func (c *Changer) step(ctx context.Context, j *job, now time.Time) error {
	key := bus.WidthKey(growth.PodUID(j.owner.UID))
	record, guard, err := c.record(ctx, key)
	if err != nil {
		return err
	}
	seen, err := c.look(ctx, j, record.Change)
	if err != nil {
		return err
	}
	next, changed := c.Limits.Next(record.Change, seen, fmt.Sprintf("workers-%016x", now.UnixNano()), now)
	if !changed {
		if c.Limits.Due(record.Change, seen, now) {
			c.explain(ctx, j, seen)
		}
		return c.act(ctx, j, record.Change)
	}
	value, err := bus.Encode(bus.WidthChange{Owner: j.owner.String(), Change: next})
	if err != nil {
		return err
	}
	if _, err := c.Bus.Put(ctx, key, value, bus.Persistent, guard); err != nil {
		if errors.Is(err, bus.ErrConflict) {
			return nil // another replica was faster
		}
		return err
	}
	c.announce(ctx, j, next)
	return c.act(ctx, j, next)
}

// record reads the record of a job, and returns the guard of its replacement.
func (c *Changer) record(ctx context.Context, key string) (record bus.WidthChange, guard bus.Guard, err error) {
	entries, _, err := c.Bus.List(ctx, key)
	if err != nil {
		return record, guard, err
	}
	for _, entry := range entries {
		if entry.Key == key {
			record, err = bus.Decode[bus.WidthChange](entry.Value)
			return record, bus.Unchanged(key, entry.Revision), err
		}
	}
	return record, bus.Absent(key), nil
}

// kept is how long the record of a job that does nothing stays on the bus. It is longer than jobs usually take.
const kept = 30 * 24 * time.Hour

// forget deletes the records of jobs that have ended long ago.
func (c *Changer) forget(ctx context.Context, now time.Time) error {
	entries, _, err := c.Bus.List(ctx, bus.Widths)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		record, err := bus.Decode[bus.WidthChange](entry.Value)
		if err != nil || now.Sub(record.Change.Since) < kept {
			continue
		}
		if err := c.Bus.Delete(ctx, entry.Key, bus.Unchanged(entry.Key, entry.Revision)); err != nil && !errors.Is(err, bus.ErrConflict) {
			return err
		}
	}
	return nil
}
