package etcdbus_test

import (
	"context"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// replaced is an etcd with one entry that is replaced by an empty one so fast that no request fails. Like etcd, it confirms a watch from a
// future revision, and sends nothing.
type replaced struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedWatchServer
	header atomic.Pointer[etcdserverpb.ResponseHeader]
}

func (r *replaced) Range(context.Context, *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	h := r.header.Load()
	reply := &etcdserverpb.RangeResponse{Header: h}
	if h.Revision == 7 {
		reply.Kvs = []*mvccpb.KeyValue{{Key: []byte("/n/a"), Value: []byte("old"), ModRevision: 7}}
	}
	return reply, nil
}

func (r *replaced) Watch(stream etcdserverpb.Watch_WatchServer) error {
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		if err := stream.Send(&etcdserverpb.WatchResponse{Header: r.header.Load(), Created: true}); err != nil {
			return err
		}
	}
}

func TestWatch_ListsAgainIfEtcdWasReplaced(t *testing.T) {
	t.Parallel()
	etcd := &replaced{}
	etcd.header.Store(&etcdserverpb.ResponseHeader{ClusterId: 1, RaftTerm: 4, Revision: 7})
	_, batches, mirror := watchFake(t, etcd)
	until(t, batches, mirror, func(v *bus.View[string]) bool { return v.Synced && len(v.Values) == 1 })
	etcd.header.Store(&etcdserverpb.ResponseHeader{ClusterId: 1, RaftTerm: 2, Revision: 2})
	until(t, batches, mirror, func(v *bus.View[string]) bool { return v.Synced && len(v.Values) == 0 })
}
