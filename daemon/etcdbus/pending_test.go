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
		"two keys": {
			replies: [][]*clientv3.Event{{put("/a", 11), put("/b", 12)}},
			want:    bus.Batch{Revision: 12, Entries: []bus.Entry{{Key: "/a", Revision: 11}, {Key: "/b", Revision: 12}}},
		},
		"put and deleted in one reply": {
			replies: [][]*clientv3.Event{{put("/a", 11), put("/b", 12), deletion("/a", 13)}},
			want:    bus.Batch{Revision: 13, Entries: []bus.Entry{{Key: "/b", Revision: 12}}, Deleted: []string{"/a"}},
		},
		"put and deleted in two replies": {
			replies: [][]*clientv3.Event{{put("/a", 11), put("/b", 12)}, {deletion("/a", 13)}},
			want:    bus.Batch{Revision: 13, Entries: []bus.Entry{{Key: "/b", Revision: 12}}, Deleted: []string{"/a"}},
		},
		"deleted and put": {
			replies: [][]*clientv3.Event{{deletion("/a", 11)}, {put("/a", 12)}},
			want:    bus.Batch{Revision: 12, Entries: []bus.Entry{{Key: "/a", Revision: 12}}, Deleted: []string{}},
		},
		"put twice": {
			replies: [][]*clientv3.Event{{put("/a", 11)}, {put("/a", 12)}},
			want:    bus.Batch{Revision: 12, Entries: []bus.Entry{{Key: "/a", Revision: 12}}},
		},
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

// TestPending_MergedBatchesEqualSingleChanges compares a reader that gets every change with one that gets merged batches.
func TestPending_MergedBatchesEqualSingleChanges(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		eager := map[string]bus.Revision{}
		lazy := map[string]bus.Revision{}
		next := pending{}
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
			if random.IntN(3) == 0 {
				change = deletion
			}
			events := []*clientv3.Event{change(fmt.Sprint("/", random.IntN(8)), revision+1)}
			var single pending
			single.add(events)
			apply(eager, single.batch)
			next.add(events)
			if random.IntN(5) == 0 || revision == 99 {
				require.LessOrEqual(t, len(next.batch.Entries)+len(next.batch.Deleted), 8)
				apply(lazy, next.batch)
				next = pending{}
				require.Equal(t, eager, lazy, "seed %d, revision %d", seed, revision+1)
			}
		}
	}
}

func TestPending_SendsNothingWithoutAChange(t *testing.T) {
	var p pending
	out := make(chan bus.Batch)
	require.Nil(t, p.outlet(out))
	p.add([]*clientv3.Event{put("/a", 1)})
	require.NotNil(t, p.outlet(out))
}
