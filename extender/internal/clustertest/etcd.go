package clustertest

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Etcd is a real etcd in the process of the test. It can be stopped and started.
type Etcd struct {
	t       *testing.T
	dir     string
	server  *embed.Etcd
	address url.URL
}

// NewEtcd starts an etcd on a free port. It stops with the test.
func NewEtcd(t *testing.T) *Etcd {
	t.Helper()
	e := &Etcd{t: t, dir: t.TempDir(), address: url.URL{Scheme: "http", Host: "127.0.0.1:0"}}
	e.Start()
	e.address.Host = e.server.Clients[0].Addr().String()
	t.Cleanup(e.Stop)
	return e
}

// Stop stops it. To clients that looks like a crash. The data stays.
func (e *Etcd) Stop() {
	if e.server != nil {
		e.server.Close()
		e.server = nil
	}
}

// Start starts it, on the same port and with the same data as before.
func (e *Etcd) Start() {
	e.t.Helper()
	c := embed.NewConfig()
	c.Dir, c.LogLevel, c.LogOutputs, c.UnsafeNoFsync = e.dir, "error", []string{"/dev/null"}, true
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{e.address}, []url.URL{e.address}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	server, err := embed.StartEtcd(c)
	require.NoError(e.t, err)
	e.server = server
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(30 * time.Second):
		e.t.Fatal("etcd did not start")
	}
}

// Open connects to it.
func (e *Etcd) Open() bus.Bus {
	e.t.Helper()
	b, err := etcdbus.Open(etcdbus.Config{Endpoints: []string{e.address.String()}, SessionTTL: 5 * time.Second})
	require.NoError(e.t, err)
	e.t.Cleanup(func() { _ = b.Close() })
	return b
}
