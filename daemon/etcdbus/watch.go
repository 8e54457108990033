package etcdbus

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// probeInterval is the time between two probes of etcd by a watch. Etcd's client reports no error while it reconnects.
	probeInterval = 5 * time.Second
	// probeTimeout bounds a probe.
	probeTimeout = 3 * time.Second
)

// Watch implements bus.Bus.
func (b *Bus) Watch(ctx context.Context, prefix string) <-chan bus.Batch {
	return b.watch(ctx, prefix, b.relist)
}

// WatchChunked implements bus.Bus. A chunk is a page of List.
func (b *Bus) WatchChunked(ctx context.Context, prefix string) <-chan bus.Batch {
	return b.watch(ctx, prefix, b.relistInChunks)
}

// A relistFunc sends all entries to out and returns their revision.
type relistFunc func(ctx context.Context, prefix string, out chan<- bus.Batch) (bus.Revision, error)

// watch follows a prefix until ctx ends. After an interruption it sends the error and lists again.
func (b *Bus) watch(ctx context.Context, prefix string, relist relistFunc) <-chan bus.Batch {
	out := make(chan bus.Batch)
	go func() {
		defer close(out)
		for ctx.Err() == nil {
			var next pending
			err := b.follow(ctx, prefix, relist, &next, out)
			// Etcd may be unavailable for long: the reader gets the last changes before the error.
			if next.outlet(out) != nil && !send(ctx, out, next.batch) {
				return
			}
			if ctx.Err() != nil || !send(ctx, out, bus.Batch{Err: err}) {
				return
			}
			b.log.Warn("watching the bus was interrupted", "prefix", prefix, "err", err)
			select {
			case <-time.After(retryInterval):
			case <-ctx.Done():
			}
		}
	}()
	return out
}

// follow lists once and then sends changes until an error. The changes that it has not sent remain in next.
func (b *Bus) follow(ctx context.Context, prefix string, relist relistFunc, next *pending, out chan<- bus.Batch) error {
	revision, err := relist(ctx, prefix, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	// The client's Watch returns after etcd has confirmed the watch, and blocks if etcd becomes unavailable before. It
	// runs in a goroutine, so that the probe detects this case too.
	confirmed := make(chan clientv3.WatchChan, 1)
	go func() {
		confirmed <- b.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(int64(revision)+1))
	}()
	var changes clientv3.WatchChan
	known := lineage{revision: int64(revision)}
	probe := time.NewTicker(probeInterval)
	defer probe.Stop()
	for {
		select {
		case changes = <-confirmed:
		case reply, ok := <-changes:
			if !ok {
				return wrap("watching "+prefix, context.Cause(ctx))
			}
			if err := reply.Err(); err != nil { // among others, a compaction
				return wrap("watching "+prefix, err)
			}
			known.revision = max(known.revision, reply.Header.Revision)
			next.add(reply.Events)
		case next.outlet(out) <- next.batch:
			*next = pending{}
		case <-probe.C:
			if err := b.probe(ctx, prefix, &known); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// relist sends all entries in one batch.
func (b *Bus) relist(ctx context.Context, prefix string, out chan<- bus.Batch) (bus.Revision, error) {
	entries, revision, err := b.List(ctx, prefix)
	if err != nil {
		return 0, err
	}
	if !send(ctx, out, bus.Batch{Reset: true, Revision: revision, Entries: entries}) {
		return 0, ctx.Err()
	}
	return revision, nil
}

// relistInChunks sends one batch per page.
func (b *Bus) relistInChunks(ctx context.Context, prefix string, out chan<- bus.Batch) (bus.Revision, error) {
	return b.list(ctx, prefix, func(page bus.Batch) error {
		if !send(ctx, out, page) {
			return ctx.Err()
		}
		return nil
	})
}

// probe returns an error if etcd does not answer, or if its data was replaced.
func (b *Bus) probe(ctx context.Context, prefix string, known *lineage) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	reply, err := b.client.Get(ctx, prefix, clientv3.WithCountOnly())
	if err != nil {
		return wrap("reaching the bus", err)
	}
	if err := known.add(reply.Header); err != nil {
		return wrap("watching "+prefix, err)
	}
	return nil
}

// send sends a batch. It returns false if ctx ends first.
func send(ctx context.Context, out chan<- bus.Batch, b bus.Batch) bool {
	select {
	case out <- b:
		return true
	case <-ctx.Done():
		return false
	}
}
