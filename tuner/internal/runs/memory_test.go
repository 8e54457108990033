package runs_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"

	"github.com/trellis-gpu/trellis/tuner/internal/clustertest"
	"github.com/trellis-gpu/trellis/tuner/internal/runs"
)

// list is a bus with one list, in chunks of 100.
type list []bus.Entry

func (l list) WatchChunked(context.Context, string) <-chan bus.Batch {
	out := make(chan bus.Batch)
	go func() {
		defer close(out)
		for from := 0; from < len(l); from += 100 {
			to := min(from+100, len(l))
			out <- bus.Batch{Reset: from == 0, More: to < len(l), Entries: l[from:to]}
		}
	}()
	return out
}

// The index of 10,000 programs is a small part of the 100 MB that a tuner may take: it keeps no runs.
func TestIndex_TakesLittleMemory(t *testing.T) {
	cluster := clustertest.Cluster{Programs: 10_000}
	var entries list
	cluster.PutPrograms(t, func(key string, value []byte) { entries = append(entries, bus.Entry{Key: key, Value: value}) })
	before := heap()
	index := runs.NewIndex(entries, slog.New(slog.DiscardHandler))
	require.NoError(t, index.Run(context.Background()))
	taken := float64(heap()-before) / 1e6
	count, bytes := index.Size()
	require.Equal(t, 10_000, count)
	t.Logf("%.1f MB for %.1f MB on the bus", taken, float64(bytes)/1e6)
	require.LessOrEqual(t, taken, 16.)
	runtime.KeepAlive(entries)
}

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
