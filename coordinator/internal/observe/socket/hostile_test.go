package socket_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// attacks are what a job may write to its socket, over and over.
var attacks = map[string][]byte{
	"huge lines":      append(bytes.Repeat([]byte("x"), 1<<20), '\n'),
	"no newline ever": bytes.Repeat([]byte("y"), 1<<16),
	"a flood":         bytes.Repeat([]byte("{\"v\":1,\"type\":\"progress\",\"step\":1}\n"), 2000),
	"empty lines":     bytes.Repeat([]byte("\n"), 1<<16),
	"invalid UTF-8":   bytes.Repeat([]byte("{\"v\":1,\"type\":\"\xff\xfe\"}\n"), 2000),
	"future versions": bytes.Repeat([]byte("{\"v\":99,\"type\":\"progress\",\"step\":1}\n"), 2000),
	"unknown types":   bytes.Repeat([]byte("{\"v\":1,\"type\":\"gossip\"}\n"), 2000),
	"deep nesting":    append(bytes.Repeat([]byte("["), 60_000), '\n'),
	"many metrics":    append(append([]byte(`{"v":1,"type":"progress","metrics":{`), bytes.Repeat([]byte(`"a":1,`), 9000)...), "\"b\":2}}\n"...),
}

// quiet counts what one slot is heard of, and keeps nothing.
type quiet struct {
	mu      sync.Mutex
	reports map[string]int
}

func (q *quiet) handle(slot string, e socket.Event) {
	if _, ok := e.(socket.Received); ok {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.reports[slot]++
	}
}

// Whatever a job does with its socket, the memory that it costs is bounded, and a well-behaved job beside it is heard in
// full.
func TestAHostileJobIsAloneAffected(t *testing.T) {
	const lasts, bound = time.Second, 12 << 20
	state := t.TempDir()
	heard := &quiet{reports: map[string]int{}}
	server, err := socket.New(state, socket.DefaultLimits, slog.New(slog.DiscardHandler), heard.handle)
	require.NoError(t, err)
	defer server.Shutdown()
	path := func(slot string) string { return filepath.Join(state, gpushare.SlotsDir, slot, gpushare.SocketName) }
	slots := []string{"good"}
	for name := range attacks {
		slots = append(slots, name)
	}
	for _, slot := range slots {
		require.NoError(t, os.MkdirAll(filepath.Dir(path(slot)), 0o755))
		require.NoError(t, server.Open(context.Background(), slot))
	}

	before := heap()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var wg sync.WaitGroup
	for name, lines := range attacks {
		wg.Go(func() { attack(ctx, path(name), lines) }) // and reads nothing
	}
	good, err := net.Dial("unix", path("good"))
	require.NoError(t, err)
	defer func() { _ = good.Close() }()
	go func() { _, _ = io.Copy(io.Discard, good) }()
	most, sent := uint64(0), 0
	for ctx.Err() == nil {
		_, err := good.Write([]byte(progress(sent)))
		require.NoError(t, err)
		sent++
		for name := range attacks {
			_ = server.Send(name, wire.Config{Generation: int64(sent)})
			_ = server.SendDuty(name, wire.Duty{Sequence: int64(sent), Duty: .5})
		}
		if sent%10 == 1 {
			most = max(most, heap())
		}
		time.Sleep(20 * time.Millisecond)
	}
	wg.Wait()
	require.Eventually(t, func() bool {
		heard.mu.Lock()
		defer heard.mu.Unlock()
		return heard.reports["good"] == sent
	}, patience, 10*time.Millisecond, "every report of the good one")
	grown := int64(most) - int64(before)
	t.Logf("%d kinds of attack at once: %+.1f MiB at most", len(attacks), float64(grown)/(1<<20))
	require.Less(t, grown, int64(bound))
}

// attack writes until ctx ends, and connects again when it is thrown out.
func attack(ctx context.Context, path string, lines []byte) {
	for ctx.Err() == nil {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		for err == nil {
			_, err = conn.Write(lines)
		}
		stop()
		_ = conn.Close()
	}
}

// heap is what is alive, after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
