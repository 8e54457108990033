package etcdbus

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trellis-gpu/trellis/growth/bus"
)

func put(key string, revision int64) *clientv3.Event {
	return &clientv3.Event{Type: mvccpb.PUT, Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}}
}

func deletion(key string, revision int64) *clientv3.Event {
	return &clientv3.Event{Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}}
}

func TestPending_LastChangeOfAKeyCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		replies [][]*clientv3.Event
		want    bus.Batch
	}{
		"two keys":           {[][]*clientv3.Event{{put("/a", 11), put("/b", 12)}}, bus.Batch{Revision: 12, Entries: []bus.Entry{{Key: "/a", Revision: 11}, {Key: "/b", Revision: 12}}}},
		"in one reply":       {[][]*clientv3.Event{{put("/a", 11), put("/b", 12), deletion("/a", 13)}}, bus.Batch{Revision: 13, Entries: []bus.Entry{{Key: "/b", Revision: 12}}, Deleted: []string{"/a"}}},
		"in two replies":     {[][]*clientv3.Event{{put("/a", 11), put("/b", 12)}, {deletion("/a", 13)}}, bus.Batch{Revision: 13, Entries: []bus.Entry{{Key: "/b", Revision: 12}}, Deleted: []string{"/a"}}},
		"back again":         {[][]*clientv3.Event{{deletion("/a", 11)}, {put("/a", 12)}}, bus.Batch{Revision: 12, Entries: []bus.Entry{{Key: "/a", Revision: 12}}, Deleted: []string{}}},
		"the same once more": {[][]*clientv3.Event{{put("/a", 11)}, {put("/a", 12)}}, bus.Batch{Revision: 12, Entries: []bus.Entry{{Key: "/a", Revision: 12}}}},
	} {
		t.Run(name, func(t *testing.T) {
			var p pending
			for _, events := range tc.replies {
				p.add(events)
			}
			require.Equal(t, tc.want, p.batch)
		})
	}
}

// TestBatchesLeadWhereSingleChangesLead has readers that take every change, some and the last batch only.
func TestBatchesLeadWhereSingleChangesLead(t *testing.T) {
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 0))
		eager, lazy, next := map[string]bus.Revision{}, map[string]bus.Revision{}, pending{}
		apply := func(to map[string]bus.Revision, b bus.Batch) {
			for _, key := range b.Deleted {
				delete(to, key)
			}
			for _, e := range b.Entries {
				to[e.Key] = e.Revision
			}
		}
		for revision := range int64(100) {
			change := put
			if dice.IntN(3) == 0 {
				change = deletion
			}
			events := []*clientv3.Event{change(fmt.Sprint("/", dice.IntN(8)), revision+1)}
			var alone pending
			alone.add(events)
			apply(eager, alone.batch)
			if next.add(events); dice.IntN(5) == 0 || revision == 99 {
				require.LessOrEqual(t, len(next.batch.Entries)+len(next.batch.Deleted), 8)
				apply(lazy, next.batch)
				next = pending{}
				require.Equal(t, eager, lazy, "seed %d, revision %d", seed, revision+1)
			}
		}
	}
}

func TestPending_OffersNothingWithoutAChange(t *testing.T) {
	var p pending
	out := make(chan bus.Batch)
	require.Nil(t, p.offered(out))
	p.add([]*clientv3.Event{put("/a", 1)})
	require.NotNil(t, p.offered(out))
}
