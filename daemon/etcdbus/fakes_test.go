package etcdbus_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// fakeEtcd is what a Bus needs of an etcd to list and watch.
type fakeEtcd interface {
	etcdserverpb.KVServer
	etcdserverpb.WatchServer
}

// watchFake serves a fake etcd and watches it.
func watchFake(t *testing.T, etcd fakeEtcd) (*grpc.Server, <-chan bus.Batch, *bus.Mirror[string]) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	etcdserverpb.RegisterKVServer(server, etcd)
	etcdserverpb.RegisterWatchServer(server, etcd)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	b, err := etcdbus.Open(etcdbus.Config{Endpoints: []string{"http://" + listener.Addr().String()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return server, b.Watch(t.Context(), "/n/"), &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) { return string(e.Value), nil }}
}
