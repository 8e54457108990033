package etcdbus

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// probeEvery is how often a quiet watch asks whether etcd is still there; the client library itself would wait
	// for it in silence.
	probeEvery = 5 * time.Second
	// probeTimeout is how long the answer may take.
	probeTimeout = 3 * time.Second
)

// Watch implements bus.Bus.
func (b *Bus) Watch(ctx context.Context, prefix string) <-chan bus.Batch {
	return b.watch(ctx, prefix, b.relist)
}

// WatchChunked implements bus.Bus: a part is a page.
func (b *Bus) WatchChunked(ctx context.Context, prefix string) <-chan bus.Batch {
	return b.watch(ctx, prefix, b.relistInParts)
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
			if next.offered(out) != nil && !send(ctx, out, next.batch) { // an older view may be all there is for long
				return
			}
			if ctx.Err() != nil || !send(ctx, out, bus.Batch{Err: err}) {
				return
			}
			b.log.Warn("watching the bus was interrupted", "prefix", prefix, "err", err)
			select {
			case <-time.After(retryEvery):
			case <-ctx.Done():
			}
		}
	}()
	return out
}

// follow lists once and streams changes until something breaks. What it has not sent by then it leaves in next.
func (b *Bus) follow(ctx context.Context, prefix string, relist relister, next *pending, out chan<- bus.Batch) error {
	revision, err := relist(ctx, prefix, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	// The client's Watch returns only when etcd has confirmed it, which a lost etcd never does: wait for it in parallel
	// with the probe, not before.
	begun := make(chan clientv3.WatchChan, 1)
	go func() {
		begun <- b.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(int64(revision)+1))
	}()
	var changes clientv3.WatchChan
	probe := time.NewTicker(probeEvery)
	defer probe.Stop()
	for {
		select {
		case changes = <-begun:
		case reply, ok := <-changes:
			if !ok {
				return mapped("watching "+prefix, context.Cause(ctx))
			}
			if err := reply.Err(); err != nil { // compaction too
				return mapped("watching "+prefix, err)
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

func (b *Bus) relistInParts(ctx context.Context, prefix string, out chan<- bus.Batch) (bus.Revision, error) {
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
		return mapped("reaching the bus", err)
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
