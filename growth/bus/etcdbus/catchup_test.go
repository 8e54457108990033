package etcdbus

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// TestABatchIsOfTheRevisionItReaches has a watch catch up in parts: etcd's header is ahead of the events that came with
// it, and who took it for theirs would decide on entries it has not seen.
func TestABatchIsOfTheRevisionItReaches(t *testing.T) {
	event := func(kind mvccpb.Event_EventType, key string, revision int64) *clientv3.Event {
		return &clientv3.Event{Type: kind, Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}}
	}
	batch := collapsed(clientv3.WatchResponse{Header: etcdserverpb.ResponseHeader{Revision: 5000}, Events: []*clientv3.Event{
		event(mvccpb.PUT, "/n/a", 11), event(mvccpb.PUT, "/n/b", 12), event(mvccpb.DELETE, "/n/a", 13),
	}})
	require.Equal(t, bus.Batch{Revision: 13, Entries: []bus.Entry{{Key: "/n/b", Revision: 12}}, Deleted: []string{"/n/a"}}, batch)
}
