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

// countingKV counts reads, and calls a function after each.
type countingKV struct {
	clientv3.KV
	reads     int
	afterRead func(reads int)
}

func (c *countingKV) Get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	reply, err := c.KV.Get(ctx, key, options...)
	c.reads++
	if c.afterRead != nil {
		c.afterRead(c.reads)
	}
	return reply, err
}

// fill writes a number of entries of a size in bytes.
func fill(t *testing.T, b bus.Bus, entries, bytes int) {
	t.Helper()
	perCommit := max(1, min(100, 1<<20/bytes))
	for n := 0; n < entries; n += perCommit {
		var writes []bus.Write
		for i := n; i < min(n+perCommit, entries); i++ {
			writes = append(writes, bus.Write{Key: fmt.Sprintf("/n/%05d", i), Value: make([]byte, bytes)})
		}
		_, err := b.Commit(t.Context(), writes)
		require.NoError(t, err)
	}
}

// TestList_OfAnySize lists over a connection with gRPC's default limit of 4 MiB per message.
func TestList_OfAnySize(t *testing.T) {
	const maxMessage = 4 << 20
	for name, tc := range map[string]struct {
		entries, bytes int
		reads          int
	}{
		"thousands of records": {5000, 1000, 5000 / etcdbus.PageSize},
		"large records":        {16, 300 << 10, 7 + 3}, // pages of 1000, 500 … 15 are rejected, then 7 entries arrive per page
	} {
		t.Run(name, func(t *testing.T) {
			server := etcdtest.New(t)
			b := server.Open(sessionTTL)
			fill(t, b, tc.entries, tc.bytes)
			limited, err := clientv3.New(clientv3.Config{Endpoints: []string{server.URL()}, MaxCallRecvMsgSize: maxMessage, Logger: zap.NewNop()})
			require.NoError(t, err)
			t.Cleanup(func() { _ = limited.Close() })
			_, err = limited.Get(t.Context(), "/n/", clientv3.WithPrefix())
			require.Equal(t, codes.ResourceExhausted, status.Code(err), "one reply is too large: %v", err)

			counting := &countingKV{KV: limited.KV}
			b.WrapKV(func(clientv3.KV) clientv3.KV { return counting })
			all, revision, err := b.List(t.Context(), "/n/")
			require.NoError(t, err)
			require.Len(t, all, tc.entries)
			for i, e := range all {
				require.Equal(t, fmt.Sprintf("/n/%05d", i), e.Key)
				require.Len(t, e.Value, tc.bytes)
			}
			require.Equal(t, all[tc.entries-1].Revision, revision, "the list has the revision of the last write")
			require.Equal(t, tc.reads, counting.reads)
		})
	}
}

func TestList_RestartsAfterCompaction(t *testing.T) {
	for name, tc := range map[string]struct {
		compactAfter func(read int) bool
		succeeds     bool
	}{
		"after its first page":   {func(read int) bool { return read == 1 }, true},
		"after its second page":  {func(read int) bool { return read == 2 }, true},
		"after its last page":    {func(read int) bool { return read == 3 }, true},
		"after every first page": {func(int) bool { return true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := etcdtest.New(t)
			writer, reader := server.Open(sessionTTL), server.Open(sessionTTL)
			fill(t, writer, 2*etcdbus.PageSize+1, 1)
			want := 2*etcdbus.PageSize + 1
			compacting := &countingKV{afterRead: func(read int) {
				if !tc.compactAfter(read) {
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
			reader.WrapKV(func(kv clientv3.KV) clientv3.KV { compacting.KV = kv; return compacting })
			all, _, err := reader.List(t.Context(), "/n/")
			if !tc.succeeds {
				require.ErrorIs(t, err, rpctypes.ErrCompacted)
				require.Equal(t, 2*etcdbus.ListAttempts, compacting.reads)
				return
			}
			require.NoError(t, err)
			require.Len(t, all, want)
		})
	}
}
