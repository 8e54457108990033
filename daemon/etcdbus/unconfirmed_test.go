package etcdbus_test

import (
	"context"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// unconfirming is an etcd that answers reads and never confirms a watch, like one that becomes unavailable at that moment.
type unconfirming struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedWatchServer
	watched chan struct{}
}

func (*unconfirming) Range(context.Context, *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	return &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{Revision: 7}}, nil
}

func (u *unconfirming) Watch(stream etcdserverpb.Watch_WatchServer) error {
	close(u.watched) // once: the client under test keeps one stream
	<-stream.Context().Done()
	return nil
}

func TestWatch_DetectsAnEtcdLostBeforeConfirmation(t *testing.T) {
	t.Parallel()
	etcd := &unconfirming{watched: make(chan struct{})}
	server, batches, mirror := watchFake(t, etcd)
	until(t, batches, mirror, func(v *bus.View[string]) bool { return v.Synced })
	<-etcd.watched
	server.Stop()
	until(t, batches, mirror, func(v *bus.View[string]) bool { return v.Err != nil })
}
