package etcdbus

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// probeInterval is the time between two checks of the connection. A watch of etcd's client returns no error while
	// etcd is unavailable.
	probeInterval = 5 * time.Second
	// probeTimeout bounds a check.
	probeTimeout = 3 * time.Second
)

// Watch implements bus.Bus.
func (b *Bus) Watch(ctx context.Context, prefix string) <-chan bus.Batch {
	return b.watch(ctx, prefix, b.relist)
}

// WatchChunked implements bus.Bus. A chunk is a page of the list.
func (b *Bus) WatchChunked(ctx context.Context, prefix string) <-chan bus.Batch {
	return b.watch(ctx, prefix, b.relistChunked)
}

// relister sends a list and returns its revision.
type relister func(ctx context.Context, prefix string, out chan<- bus.Batch) (bus.Revision, error)

func (b *Bus) watch(ctx context.Context, prefix string, relist relister) <-chan bus.Batch {
	out := make(chan bus.Batch)
	go func() {
		defer close(out)
		for ctx.Err() == nil {
			var next pending
			err := b.follow(ctx, prefix, relist, &next, out)
			if next.offered(out) != nil && !send(ctx, out, next.batch) { // the changes before the error
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

// follow lists once and then sends changes until an error. Changes that it has not sent by then remain in next.
func (b *Bus) follow(ctx context.Context, prefix string, relist relister, next *pending, out chan<- bus.Batch) error {
	revision, err := relist(ctx, prefix, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	// The client's Watch blocks until etcd confirms it. The loop checks the connection meanwhile.
	started := make(chan clientv3.WatchChan, 1)
	go func() {
		started <- b.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(int64(revision)+1))
	}()
	var changes clientv3.WatchChan
	probe := time.NewTicker(probeInterval)
	defer probe.Stop()
	for {
		select {
		case changes = <-started:
		case reply, ok := <-changes:
			if !ok {
				return wrap("watching "+prefix, context.Cause(ctx))
			}
			if err := reply.Err(); err != nil { // for example a compaction
				return wrap("watching "+prefix, err)
			}
			next.add(reply.Events)
		case next.offered(out) <- next.batch:
			*next = pending{}
		case <-probe.C:
			if err := b.reachable(ctx, prefix); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

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

func (b *Bus) relistChunked(ctx context.Context, prefix string, out chan<- bus.Batch) (bus.Revision, error) {
	return b.list(ctx, prefix, func(page bus.Batch) error {
		if !send(ctx, out, page) {
			return ctx.Err()
		}
		return nil
	})
}

func (b *Bus) reachable(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if _, err := b.client.Get(ctx, prefix, clientv3.WithCountOnly()); err != nil {
		return wrap("reaching the bus", err)
	}
	return nil
}

func send(ctx context.Context, out chan<- bus.Batch, b bus.Batch) bool {
	select {
	case out <- b:
		return true
	case <-ctx.Done():
		return false
	}
}
