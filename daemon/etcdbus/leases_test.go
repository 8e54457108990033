package etcdbus_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trellis-gpu/trellis/daemon/etcdbus/etcdtest"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestLeases_EntriesWithTheSameTTLShareALease(t *testing.T) {
	server := etcdtest.New(t)
	b := server.Open(sessionTTL)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.URL()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	granted := func() (ids []clientv3.LeaseID) {
		all, err := client.Leases(t.Context())
		require.NoError(t, err)
		for _, l := range all.Leases {
			lease, err := client.TimeToLive(t.Context(), l.ID)
			if err == nil && lease.GrantedTTL > 60 { // sessions have shorter leases
				ids = append(ids, l.ID)
			}
		}
		return ids
	}
	put := func(name string, ttl time.Duration) {
		_, err := b.Put(t.Context(), "/"+name, []byte("1"), bus.Lifetime{TTL: ttl})
		require.NoError(t, err)
	}
	for i := range 20 {
		put(fmt.Sprint("five-minutes-", i), 5*time.Minute)
	}
	require.Len(t, granted(), 1)
	lease, err := client.TimeToLive(t.Context(), granted()[0], clientv3.WithAttachedKeys())
	require.NoError(t, err)
	require.EqualValues(t, 310, lease.GrantedTTL, "the last entry has its five minutes too")
	require.Len(t, lease.Keys, 20)
	put("an-hour", time.Hour)
	require.Len(t, granted(), 2)

	for _, id := range granted() {
		_, err := client.Revoke(t.Context(), id)
		require.NoError(t, err)
	}
	put("after", 5*time.Minute)
	require.Len(t, granted(), 1, "a lost lease is granted again")
}
