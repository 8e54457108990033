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
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// attacks are what hostile jobs write to their sockets, repeatedly.
var attacks = map[string][]byte{
	"huge lines":      append(bytes.Repeat([]byte("x"), 1<<20), '\n'),
	"no newline ever": bytes.Repeat([]byte("y"), 1<<16),
	"a flood":         bytes.Repeat([]byte("{\"v\":1,\"type\":\"progress\",\"step\":1}\n"), 2000),
	"empty lines":     bytes.Repeat([]byte("\n"), 1<<16),
	"invalid UTF-8":   bytes.Repeat([]byte("{\"v\":1,\"type\":\"\xff\xfe\"}\n"), 2000),
	"future versions": bytes.Repeat([]byte("{\"v\":99,\"type\":\"progress\",\"step\":1}\n"), 2000),
	"unknown types":   bytes.Repeat([]byte("{\"v\":1,\"type\":\"gossip\"}\n"), 2000),
	"deep nesting":    append(bytes.Repeat([]byte("["), 60_000), '\n'),
	"many metrics": slices.Concat(
		[]byte(`{"v":1,"type":"progress","metrics":{`),
		bytes.Repeat([]byte(`"a":1,`), 9000),
		[]byte("\"b\":2}}\n"),
	),
}

// counter counts the messages of each slot without keeping them.
type counter struct {
	mu      sync.Mutex
	reports map[string]int
}

func (c *counter) handle(slot string, e socket.Event) {
	if m, ok := e.(socket.Reported); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reports[slot] += len(m.Reports)
	}
}

// Hostile jobs cost a bounded amount of memory, and every report of another job arrives.
func TestServer_HostileJobsAffectNoOther(t *testing.T) {
	const duration = time.Second
	const maxGrowth = 12 << 20
	state := t.TempDir()
	received := &counter{reports: map[string]int{}}
	server, err := socket.New(state, socket.DefaultLimits, slog.New(slog.DiscardHandler), received.handle)
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

	before := liveHeap()
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var wg sync.WaitGroup
	for name, lines := range attacks {
		wg.Go(func() { attack(ctx, path(name), lines) }) // without reading
	}
	good, err := net.Dial("unix", path("good"))
	require.NoError(t, err)
	defer func() { _ = good.Close() }()
	go func() { _, _ = io.Copy(io.Discard, good) }()
	most := uint64(0)
	sent := 0
	for ctx.Err() == nil {
		_, err := good.Write([]byte(progress(sent)))
		require.NoError(t, err)
		sent++
		for name := range attacks {
			_ = server.Send(name, wire.Config{Generation: int64(sent)})
			_ = server.SendDuty(name, wire.Duty{Sequence: int64(sent), Duty: .5})
		}
		if sent%10 == 1 {
			most = max(most, liveHeap())
		}
		time.Sleep(20 * time.Millisecond)
	}
	wg.Wait()
	require.Eventually(t, func() bool {
		received.mu.Lock()
		defer received.mu.Unlock()
		return received.reports["good"] == sent
	}, patience, 10*time.Millisecond, "every report of the good job")
	grown := int64(most) - int64(before)
	t.Logf("%d kinds of attack at once: %+.1f MiB at most", len(attacks), float64(grown)/(1<<20))
	require.Less(t, grown, int64(maxGrowth))
}

// attack writes until ctx ends. It connects again when its connection is closed.
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

// liveHeap returns the bytes of live objects, after a garbage collection.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
