package etcdbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// pageSize is the number of entries per request: about 1 MiB of the most frequent records.
	pageSize = 1000
	// pageTimeout bounds the request of one page.
	pageTimeout = 2 * probeTimeout
	// listAttempts bounds how often a list starts again after a compaction. Etcd compacts every few minutes.
	listAttempts = 3
)

// List implements bus.Bus.
func (b *Bus) List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error) {
	var entries []bus.Entry
	revision, err := b.list(ctx, prefix, func(page bus.Batch) error {
		if page.Reset {
			entries = []bus.Entry{}
		}
		entries = append(entries, page.Entries...)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return entries, revision, nil
}

// list calls emit for each page. If etcd compacts the revision of the list, list starts again with a Reset.
func (b *Bus) list(ctx context.Context, prefix string, emit func(page bus.Batch) error) (bus.Revision, error) {
	var revision bus.Revision
	var err error
	for range listAttempts {
		revision, err = b.pages(ctx, prefix, emit)
		if !errors.Is(err, rpctypes.ErrCompacted) {
			break
		}
	}
	return revision, err
}

// pages reads all pages at the revision of the first. It halves the size of a page that exceeds gRPC's message limit.
func (b *Bus) pages(ctx context.Context, prefix string, emit func(page bus.Batch) error) (bus.Revision, error) {
	revision := bus.Revision(0)
	from := cmp.Or(prefix, "\x00")
	size := int64(pageSize)
	for {
		reply, err := b.page(ctx, prefix, from, revision, size)
		if tooLarge(err) && size > 1 {
			size /= 2
			continue
		}
		if err != nil {
			return 0, wrap("listing "+prefix, err)
		}
		page := bus.Batch{Reset: revision == 0, More: reply.More, Revision: revision}
		if page.Reset {
			page.Revision = bus.Revision(reply.Header.Revision)
		}
		for _, kv := range reply.Kvs {
			page.Entries = append(page.Entries, entry(kv))
		}
		if err := emit(page); err != nil || !page.More {
			return page.Revision, err
		}
		if len(reply.Kvs) == 0 {
			return 0, fmt.Errorf("listing %s: etcd returned an empty page and reports more entries", prefix)
		}
		revision = page.Revision
		from = string(reply.Kvs[len(reply.Kvs)-1].Key) + "\x00"
	}
}

// page reads up to size entries with the prefix, starting at the key from. Revision 0 means the current one.
func (b *Bus) page(
	ctx context.Context, prefix, from string, revision bus.Revision, size int64,
) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	return b.client.Get(ctx, from,
		clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)),
		clientv3.WithLimit(size),
		clientv3.WithRev(int64(revision)),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend),
	)
}

func entry(kv *mvccpb.KeyValue) bus.Entry {
	return bus.Entry{Key: string(kv.Key), Value: kv.Value, Revision: bus.Revision(kv.ModRevision)}
}

// tooLarge reports whether gRPC rejected a reply for its size. Etcd uses the same code when it is overloaded.
func tooLarge(err error) bool {
	var fromEtcd rpctypes.EtcdError
	return !errors.As(err, &fromEtcd) && status.Code(err) == codes.ResourceExhausted
}
