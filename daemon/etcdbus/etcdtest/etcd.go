package etcdtest

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
)

// Etcd is an etcd server for one test.
type Etcd struct {
	t       *testing.T
	dir     string
	server  *embed.Etcd
	address url.URL
	tls     transport.TLSInfo
}

// New starts an empty etcd on a free port and stops it when the test ends.
func New(t *testing.T) *Etcd {
	t.Helper()
	return start(t, "http", transport.TLSInfo{})
}

// NewTLS is New with TLS for clients.
func NewTLS(t *testing.T, files transport.TLSInfo) *Etcd {
	t.Helper()
	return start(t, "https", files)
}

func start(t *testing.T, scheme string, files transport.TLSInfo) *Etcd {
	t.Helper()
	e := &Etcd{t: t, dir: t.TempDir(), address: url.URL{Scheme: scheme, Host: "127.0.0.1:0"}, tls: files}
	e.Start()
	e.address.Host = e.server.Clients[0].Addr().String()
	t.Cleanup(e.Stop)
	return e
}

// URL returns the address for clients.
func (e *Etcd) URL() string { return e.address.String() }

// Server returns the running server.
func (e *Etcd) Server() *embed.Etcd { return e.server }

// Stop stops the server. To its clients this is a crash. Its data stays.
func (e *Etcd) Stop() {
	if e.server != nil {
		e.server.Close()
		e.server = nil
	}
}

// Start starts the server again, on the same port and with its data.
func (e *Etcd) Start() {
	e.t.Helper()
	c := embed.NewConfig()
	c.Dir = e.dir
	c.LogLevel = "error"
	c.LogOutputs = []string{"/dev/null"}
	c.UnsafeNoFsync = true
	c.ClientTLSInfo = e.tls
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	c.ListenClientUrls = []url.URL{e.address}
	c.AdvertiseClientUrls = []url.URL{e.address}
	c.ListenPeerUrls = []url.URL{peer}
	c.AdvertisePeerUrls = []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	server, err := embed.StartEtcd(c)
	require.NoError(e.t, err)
	e.server = server
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(30 * time.Second):
		e.t.Fatal("etcd did not become ready")
	}
}

// Open returns a Bus on the server and closes it when the test ends.
func (e *Etcd) Open(sessionTTL time.Duration) *etcdbus.Bus {
	e.t.Helper()
	b, err := etcdbus.Open(etcdbus.Config{Endpoints: []string{e.URL()}, SessionTTL: sessionTTL})
	require.NoError(e.t, err)
	e.t.Cleanup(func() { _ = b.Close() })
	return b
}
