package etcdbus_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, m := grpc.NewServer(), &unconfirming{watched: make(chan struct{})}
	etcdserverpb.RegisterKVServer(server, m)
	etcdserverpb.RegisterWatchServer(server, m)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	b, err := etcdbus.Open(etcdbus.Config{Endpoints: []string{"http://" + listener.Addr().String()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	mirror := &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) { return string(e.Value), nil }}
	batches := b.Watch(t.Context(), "/n/")
	until(t, batches, mirror, func(v *bus.View[string]) bool { return v.Synced })
	<-m.watched
	server.Stop()
	until(t, batches, mirror, func(v *bus.View[string]) bool { return v.Err != nil })
}
