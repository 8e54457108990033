package etcdbus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/etcdbus/etcdtest"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/bustest"
)

// sessionTTL is short, so that tests of lost sessions end soon.
const sessionTTL = 2 * time.Second

func TestContract(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t *testing.T) bustest.Harness {
		server := etcdtest.New(t)
		// Etcd's leases use wall-clock time: there is nothing to advance, and the suite waits.
		return bustest.Harness{
			Open:    func(t *testing.T) bustest.Process { return server.Open(sessionTTL) },
			Advance: func(time.Duration) {},
		}
	})
}

func TestBus_CatchesUpAfterAnOutage(t *testing.T) {
	server := etcdtest.New(t)
	b := server.Open(time.Minute) // a busy machine may not let the lease expire before the outage
	_, err := b.Put(t.Context(), "/n/alive", []byte("1"), bus.Ephemeral)
	require.NoError(t, err)
	m := &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) { return string(e.Value), nil }}
	batches := b.Watch(t.Context(), "/n/")
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/alive"] == "1" })

	server.Stop()
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Err != nil })
	require.Equal(t, "1", m.View().Values["/n/alive"], "the last snapshot stays while the bus is unavailable")

	server.Start()
	other := server.Open(sessionTTL)
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Err == nil })
	_, err = other.Put(t.Context(), "/n/new", []byte("2"), bus.Persistent)
	require.NoError(t, err)
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/alive"] == "1" && v.Values["/n/new"] == "2" })
}

func TestBus_RestoresEphemeralEntriesOfALostLease(t *testing.T) {
	server := etcdtest.New(t)
	b := server.Open(sessionTTL)
	_, err := b.Put(t.Context(), "/n/alive", []byte("1"), bus.Ephemeral)
	require.NoError(t, err)
	m := &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) { return string(e.Value), nil }}
	batches := b.Watch(t.Context(), "/n/")
	until(t, batches, m, func(v *bus.View[string]) bool { return len(v.Values) == 1 })

	leases, err := server.Server().Server.LeaseLeases(t.Context(), &etcdserverpb.LeaseLeasesRequest{})
	require.NoError(t, err)
	for _, lease := range leases.Leases {
		_, err := server.Server().Server.LeaseRevoke(t.Context(), &etcdserverpb.LeaseRevokeRequest{ID: lease.ID})
		require.NoError(t, err)
	}
	until(t, batches, m, func(v *bus.View[string]) bool { return len(v.Values) == 0 })
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/alive"] == "1" })
}

func TestWatch_ListsAgainAfterCompaction(t *testing.T) {
	server := etcdtest.New(t)
	b := server.Open(sessionTTL)
	require.NoError(t, b.Delete(t.Context(), "/nothing"))
	var last bus.Revision
	for range 20 {
		revision, err := b.Put(t.Context(), "/n/a", []byte("x"), bus.Persistent)
		require.NoError(t, err)
		last = revision
	}
	m := &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) { return string(e.Value), nil }}
	batches := b.Watch(t.Context(), "/n/")
	_, err := server.Server().Server.Compact(t.Context(), &etcdserverpb.CompactionRequest{Revision: int64(last)})
	require.NoError(t, err)
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/a"] == "x" })
	_, err = b.Put(t.Context(), "/n/b", []byte("y"), bus.Persistent)
	require.NoError(t, err)
	until(t, batches, m, func(v *bus.View[string]) bool { return v.Values["/n/b"] == "y" })
}

func TestConfig_NamesInvalidValues(t *testing.T) {
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

// until applies batches until enough returns true.
func until(t *testing.T, batches <-chan bus.Batch, m *bus.Mirror[string], enough func(*bus.View[string]) bool) {
	t.Helper()
	timeout := time.After(60 * time.Second)
	for !enough(m.View()) {
		select {
		case b := <-batches:
			m.Apply(b)
		case <-timeout:
			t.Fatalf("the watch sent nothing more after %+v", m.View())
		}
	}
}
