package etcdbus_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/etcdbus/etcdtest"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// reads counts what is read, and lets something happen after each.
type reads struct {
	clientv3.KV
	n    int
	then func(n int)
}

func (r *reads) Get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	reply, err := r.KV.Get(ctx, key, options...)
	if r.n++; r.then != nil {
		r.then(r.n)
	}
	return reply, err
}

// fill writes so many entries of so many bytes.
func fill(t *testing.T, b bus.Bus, entries, bytes int) {
	t.Helper()
	together := max(1, min(100, 1<<20/bytes))
	for n := 0; n < entries; n += together {
		var writes []bus.Write
		for i := n; i < min(n+together, entries); i++ {
			writes = append(writes, bus.Write{Key: fmt.Sprintf("/n/%05d", i), Value: make([]byte, bytes)})
		}
		_, err := b.Commit(t.Context(), writes)
		require.NoError(t, err)
	}
}

// TestList_OfAnySize lists over a connection with gRPC's default limit of 4 MiB per message.
func TestList_OfAnySize(t *testing.T) {
	const carried = 4 << 20
	for name, tc := range map[string]struct {
		entries, bytes int
		reads          int
	}{
		"thousands of records":                  {5000, 1000, 5000 / etcdbus.PageSize},
		"records that are large, few at a time": {16, 300 << 10, 7 + 3}, // 1000, 500 … 15 are refused, then 7 arrive at a time
	} {
		t.Run(name, func(t *testing.T) {
			server := etcdtest.New(t)
			b := server.Open(sessionTTL)
			fill(t, b, tc.entries, tc.bytes)
			narrow, err := clientv3.New(clientv3.Config{Endpoints: []string{server.URL()}, MaxCallRecvMsgSize: carried, Logger: zap.NewNop()})
			require.NoError(t, err)
			t.Cleanup(func() { _ = narrow.Close() })
			_, err = narrow.Get(t.Context(), "/n/", clientv3.WithPrefix())
			require.Equal(t, codes.ResourceExhausted, status.Code(err), "in one answer: %v", err)

			counted := &reads{KV: narrow.KV}
			b.Through(func(clientv3.KV) clientv3.KV { return counted })
			all, revision, err := b.List(t.Context(), "/n/")
			require.NoError(t, err)
			require.Len(t, all, tc.entries)
			for i, e := range all {
				require.Equal(t, fmt.Sprintf("/n/%05d", i), e.Key)
				require.Len(t, e.Value, tc.bytes)
			}
			require.Equal(t, all[tc.entries-1].Revision, revision, "nothing was written since")
			require.Equal(t, tc.reads, counted.n)
		})
	}
}

func TestList_RestartsAfterCompaction(t *testing.T) {
	for name, tc := range map[string]struct {
		compacts func(read int) bool
		lists    bool
	}{
		"after its first page":      {func(read int) bool { return read == 1 }, true},
		"after its second page":     {func(read int) bool { return read == 2 }, true},
		"after its last page":       {func(read int) bool { return read == 3 }, true},
		"each time it begins again": {func(int) bool { return true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := etcdtest.New(t)
			writer, reader := server.Open(sessionTTL), server.Open(sessionTTL)
			fill(t, writer, 2*etcdbus.PageSize+1, 1)
			want := 2*etcdbus.PageSize + 1
			meddled := &reads{then: func(read int) {
				if !tc.compacts(read) {
					return
				}
				revision, err := writer.Put(t.Context(), "/n/00000-too", nil, bus.Persistent)
				require.NoError(t, err)
				_, err = server.Server().Server.Compact(t.Context(), &etcdserverpb.CompactionRequest{Revision: int64(revision), Physical: true})
				require.NoError(t, err)
				if read < 3 {
					want = 2*etcdbus.PageSize + 2
				}
			}}
			reader.Through(func(kv clientv3.KV) clientv3.KV { meddled.KV = kv; return meddled })
			all, _, err := reader.List(t.Context(), "/n/")
			if !tc.lists {
				require.ErrorIs(t, err, rpctypes.ErrCompacted)
				require.Equal(t, 2*etcdbus.ListAttempts, meddled.n)
				return
			}
			require.NoError(t, err)
			require.Len(t, all, want)
		})
	}
}
