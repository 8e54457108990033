package etcdbus_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/bustest"
)

// start runs a real etcd inside the test.
func start(t *testing.T, dir string, clientURL string) *embed.Etcd {
	t.Helper()
	c := embed.NewConfig()
	c.Dir, c.LogLevel, c.LogOutputs, c.UnsafeNoFsync = dir, "error", []string{"/dev/null"}, true
	client, peer := must(t, clientURL), must(t, "http://127.0.0.1:0")
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	server, err := embed.StartEtcd(c)
	require.NoError(t, err)
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(30 * time.Second):
		t.Fatal("etcd did not come up")
	}
	return server
}

func must(t *testing.T, s string) url.URL {
	t.Helper()
	u, err := url.Parse(s)
	require.NoError(t, err)
	return *u
}

func open(t *testing.T, server *embed.Etcd) *etcdbus.Bus {
	t.Helper()
	b, err := etcdbus.Open(etcdbus.Config{Endpoints: []string{"http://" + server.Clients[0].Addr().String()}, SessionTTL: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestContract(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bustest.Harness {
		server := start(t, t.TempDir(), "http://127.0.0.1:0")
		t.Cleanup(server.Close)
		// etcd's leases run on wall-clock time: nothing to advance, the suite waits for what must come.
		return bustest.Harness{Open: func(t *testing.T) bustest.Process { return open(t, server) }, Advance: func(time.Duration) {}}
	})
}

func TestAnEtcdThatWasAwayIsCaughtUpWith(t *testing.T) {
	dir := t.TempDir()
	server := start(t, dir, "http://127.0.0.1:0")
	address := "http://" + server.Clients[0].Addr().String()
	b := open(t, server)
	_, err := b.Put(t.Context(), "/n/alive", []byte("1"), bus.Ephemeral)
	require.NoError(t, err)
	m := &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) { return string(e.Value), nil }}
	batches := b.Watch(t.Context(), "/n/")
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/alive"] == "1" })

	server.Close()
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Err != nil })
	require.Equal(t, "1", m.View().Values["/n/alive"], "the last snapshot stays while the bus is away")

	server = start(t, dir, address)
	t.Cleanup(server.Close)
	other := open(t, server)
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Err == nil })
	_, err = other.Put(t.Context(), "/n/new", []byte("2"), bus.Persistent)
	require.NoError(t, err)
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/alive"] == "1" && v.Values["/n/new"] == "2" })
}

func TestALostLeaseIsWrittenAgain(t *testing.T) {
	server := start(t, t.TempDir(), "http://127.0.0.1:0")
	t.Cleanup(server.Close)
	b := open(t, server)
	_, err := b.Put(t.Context(), "/n/alive", []byte("1"), bus.Ephemeral)
	require.NoError(t, err)
	m := &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) { return string(e.Value), nil }}
	batches := b.Watch(t.Context(), "/n/")
	until(t, batches, m, func(v *bus.View[string]) bool { return len(v.Values) == 1 })

	leases, err := server.Server.LeaseLeases(t.Context(), &etcdserverpb.LeaseLeasesRequest{})
	require.NoError(t, err)
	for _, lease := range leases.Leases {
		_, err := server.Server.LeaseRevoke(t.Context(), &etcdserverpb.LeaseRevokeRequest{ID: lease.ID})
		require.NoError(t, err)
	}
	until(t, batches, m, func(v *bus.View[string]) bool { return len(v.Values) == 0 })
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/alive"] == "1" })
}

func TestCompactionLeadsToARelist(t *testing.T) {
	server := start(t, t.TempDir(), "http://127.0.0.1:0")
	t.Cleanup(server.Close)
	b := open(t, server)
	require.NoError(t, b.Delete(t.Context(), "/nothing"))
	var last bus.Revision
	for range 20 {
		revision, err := b.Put(t.Context(), "/n/a", []byte("x"), bus.Persistent)
		require.NoError(t, err)
		last = revision
	}
	m := &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) { return string(e.Value), nil }}
	batches := b.Watch(t.Context(), "/n/")
	_, err := server.Server.Compact(t.Context(), &etcdserverpb.CompactionRequest{Revision: int64(last)})
	require.NoError(t, err)
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/a"] == "x" })
	_, err = b.Put(t.Context(), "/n/b", []byte("y"), bus.Persistent)
	require.NoError(t, err)
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/b"] == "y" })
}

func TestConfigNonsenseIsNamed(t *testing.T) {
	for name, c := range map[string]etcdbus.Config{
		"no endpoint":          {},
		"half a key pair":      {Endpoints: []string{"https://e:2379"}, CAFile: "ca", CertFile: "cert"},
		"https without certs":  {Endpoints: []string{"https://e:2379"}},
		"http with certs":      {Endpoints: []string{"http://e:2379"}, CAFile: "a", CertFile: "b", KeyFile: "c"},
		"an unset variable":    {Endpoints: []string{"http://$(TRELLIS_ETCD_SERVICE_HOST):2379"}},
		"a day-long session":   {Endpoints: []string{"http://e:2379"}, SessionTTL: 24 * time.Hour},
		"a CA that is missing": {Endpoints: []string{"https://e:2379"}, CAFile: "/nowhere/ca", CertFile: "b", KeyFile: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := etcdbus.Open(c)
			require.Error(t, err)
		})
	}
}

func until(t *testing.T, batches <-chan bus.Batch, m *bus.Mirror[string], enough func(*bus.View[string]) bool) {
	t.Helper()
	timeout := time.After(60 * time.Second)
	for !enough(m.View()) {
		select {
		case b := <-batches:
			m.Apply(b)
		case <-timeout:
			t.Fatalf("the watch stood still at %+v", m.View())
		}
	}
}
