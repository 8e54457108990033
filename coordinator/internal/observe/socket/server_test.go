package socket_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const patience = 10 * time.Second

// heard collects what the server tells, by slot.
type heard struct {
	mu     sync.Mutex
	events map[string][]socket.Event
}

func (h *heard) handle(slot string, e socket.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events[slot] = append(h.events[slot], e)
}

func (h *heard) steps(slot string) []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var steps []int64
	for _, e := range h.events[slot] {
		if r, ok := e.(socket.Received); ok {
			steps = append(steps, r.Message.(wire.Progress).Step)
		}
	}
	return steps
}

func (h *heard) faults(slot string) socket.Faults {
	h.mu.Lock()
	defer h.mu.Unlock()
	var sum socket.Faults
	for _, e := range h.events[slot] {
		if f, ok := e.(socket.Faults); ok {
			sum.Malformed += f.Malformed
			sum.Unknown += f.Unknown
			sum.Dropped += f.Dropped
			sum.Closed = sum.Closed || f.Closed
		}
	}
	return sum
}

func (h *heard) delivered(slot string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, e := range h.events[slot] {
		if _, ok := e.(socket.Delivered); ok {
			n++
		}
	}
	return n
}

type bench struct {
	*heard
	server *socket.Server
	state  string
}

func serve(t *testing.T, limits socket.Limits, slots ...string) bench {
	t.Helper()
	b := bench{heard: &heard{events: map[string][]socket.Event{}}, state: t.TempDir()}
	server, err := socket.New(b.state, limits, slog.New(slog.DiscardHandler), b.handle)
	require.NoError(t, err)
	b.server = server
	t.Cleanup(server.Shutdown)
	for _, slot := range slots {
		require.NoError(t, os.MkdirAll(filepath.Join(b.state, gpushare.SlotsDir, slot), 0o755))
		require.NoError(t, server.Open(context.Background(), slot))
	}
	return b
}

func (b bench) path(slot string) string {
	return filepath.Join(b.state, gpushare.SlotsDir, slot, gpushare.SocketName)
}

func (b bench) dial(t *testing.T, slot string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", b.path(slot))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func progress(step int) string {
	return fmt.Sprintf("{\"v\":1,\"type\":\"progress\",\"step\":%d}\n", step)
}

func (b bench) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, patience, 5*time.Millisecond, what)
}

func TestTheSocketSaysWhoSpeaks(t *testing.T) {
	b := serve(t, socket.DefaultLimits, "one", "two")
	_, _ = b.dial(t, "one").Write([]byte(progress(1)))
	_, _ = b.dial(t, "two").Write([]byte(progress(2)))
	b.eventually(t, "both", func() bool { return len(b.steps("one")) == 1 && len(b.steps("two")) == 1 })
	require.Equal(t, []int64{1}, b.steps("one"))
	require.Equal(t, []int64{2}, b.steps("two"))
}

func TestAnyUserMaySpeak(t *testing.T) {
	b := serve(t, socket.DefaultLimits, "one")
	info, err := os.Lstat(b.path("one"))
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o666, info.Mode())
}

// Each of these comes to "bad" while "good" goes on, and is heard in the end.
func TestHostileJobs(t *testing.T) {
	long := strings.Repeat("x", 3*wire.MaxLine)
	for name, tc := range map[string]struct {
		sends string
		want  func(socket.Faults) bool
	}{
		"garbage":              {"\x00\xff\n{}\nnot json\n", func(f socket.Faults) bool { return f.Malformed == 3 && !f.Closed }},
		"a future version":     {"{\"v\":9,\"type\":\"progress\"}\n", func(f socket.Faults) bool { return f.Malformed == 1 }},
		"an unknown type":      {"{\"v\":1,\"type\":\"poem\"}\n", func(f socket.Faults) bool { return f.Unknown == 1 && f.Malformed == 0 }},
		"our own words":        {"{\"v\":1,\"type\":\"config\",\"generation\":1}\n", func(f socket.Faults) bool { return f.Malformed == 1 }},
		"a huge line":          {long + "\n" + progress(7), func(f socket.Faults) bool { return f.Malformed == 1 }},
		"a line without end":   {long, func(f socket.Faults) bool { return f.Malformed == 1 }},
		"death in mid-line":    {`{"v":1,"type":"progr`, func(f socket.Faults) bool { return f == socket.Faults{} }},
		"nothing but nonsense": {strings.Repeat("?\n", 150), func(f socket.Faults) bool { return f.Malformed == 101 && f.Closed }},
		"a flood":              {strings.Repeat(progress(1), 1000), func(f socket.Faults) bool { return f.Dropped >= 500 && f.Malformed == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, socket.DefaultLimits, "bad", "good")
			bad := b.dial(t, "bad")
			_, _ = bad.Write([]byte(tc.sends))
			_ = bad.Close()
			good := b.dial(t, "good")
			_, err := good.Write([]byte(progress(1)))
			require.NoError(t, err)
			b.eventually(t, "the good job is heard", func() bool { return len(b.steps("good")) == 1 })
			b.eventually(t, "the bad one is counted", func() bool { return tc.want(b.faults("bad")) })
			require.Zero(t, b.faults("good"))
			again := b.dial(t, "bad")
			_, err = again.Write([]byte("\n"))
			require.NoError(t, err, "it may come back")
		})
	}
}

func TestALineAfterAHugeOneIsHeard(t *testing.T) {
	b := serve(t, socket.DefaultLimits, "one")
	_, _ = b.dial(t, "one").Write([]byte(strings.Repeat("x", 2*wire.MaxLine) + "\n" + progress(7)))
	b.eventually(t, "the next line", func() bool { return len(b.steps("one")) == 1 })
}

func TestConfigReachesWhoIsThereAndWhoComesLater(t *testing.T) {
	b := serve(t, socket.DefaultLimits, "one")
	first := bufio.NewReader(b.dial(t, "one"))
	b.eventually(t, "connected", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.events["one"]) == 1 })
	loaders := 3
	require.NoError(t, b.server.Send("one", wire.Config{Generation: 5, Values: wire.Values{Loaders: &loaders}}))
	second := bufio.NewReader(b.dial(t, "one"))
	for _, reader := range []*bufio.Reader{first, second} {
		line, err := reader.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "{\"v\":1,\"type\":\"config\",\"generation\":5,\"loaders\":3}\n", line)
	}
	b.eventually(t, "told", func() bool { return b.delivered("one") == 2 })
	require.Error(t, b.server.Send("elsewhere", wire.Config{}))
}

func TestAJobThatNeverReadsBlocksNobody(t *testing.T) {
	limits := socket.DefaultLimits
	limits.Write = 50 * time.Millisecond
	b := serve(t, limits, "deaf")
	deaf := b.dial(t, "deaf")
	_, _ = deaf.Write([]byte(progress(1)))
	b.eventually(t, "connected", func() bool { return len(b.steps("deaf")) == 1 })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		// Once we hang up, writing to us fails; reading would empty the buffer that has to fill.
		for _, err := deaf.Write([]byte(progress(1))); err == nil; _, err = deaf.Write([]byte(progress(1))) {
			time.Sleep(20 * time.Millisecond)
		}
	}()
	deadline := time.After(patience)
	for generation := int64(1); ; generation++ {
		began := time.Now()
		require.NoError(t, b.server.Send("deaf", wire.Config{Generation: generation}))
		require.Less(t, time.Since(began), time.Second, "Send never waits")
		select {
		case <-closed:
			return
		case <-deadline:
			t.Fatal("the connection is still open")
		default:
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	b := serve(t, socket.DefaultLimits, "one")
	oldest := b.dial(t, "one")
	for range socket.DefaultLimits.Connections {
		_, _ = b.dial(t, "one").Write([]byte(progress(1)))
	}
	b.eventually(t, "all heard", func() bool { return len(b.steps("one")) == socket.DefaultLimits.Connections })
	_ = oldest.SetReadDeadline(time.Now().Add(patience))
	_, err := oldest.Read(make([]byte, 1))
	require.ErrorContains(t, err, "EOF", "the oldest made room")
}

func TestSocketsThatAreInTheWay(t *testing.T) {
	for name, inTheWay := range map[string]func(t *testing.T, path, secret string){
		"a file":             func(t *testing.T, path, _ string) { require.NoError(t, os.WriteFile(path, nil, 0o600)) },
		"a stale socket":     func(t *testing.T, path, _ string) { staleSocket(t, path) },
		"a link to a secret": func(t *testing.T, path, secret string) { require.NoError(t, os.Symlink(secret, path)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := serve(t, socket.DefaultLimits)
			secret := filepath.Join(t.TempDir(), "secret")
			require.NoError(t, os.WriteFile(secret, nil, 0o600))
			require.NoError(t, os.MkdirAll(filepath.Dir(b.path("one")), 0o755))
			inTheWay(t, b.path("one"), secret)
			require.NoError(t, b.server.Open(context.Background(), "one"))
			_, _ = b.dial(t, "one").Write([]byte(progress(1)))
			b.eventually(t, "heard", func() bool { return len(b.steps("one")) == 1 })
			info, err := os.Stat(secret)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
		})
	}
}

func staleSocket(t *testing.T, path string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
}

func TestASocketThatVanishedIsMadeAnew(t *testing.T) {
	b := serve(t, socket.DefaultLimits, "one")
	require.NoError(t, b.server.Open(context.Background(), "one"), "open twice is open once")
	require.NoError(t, os.Remove(b.path("one")))
	require.NoError(t, b.server.Open(context.Background(), "one"))
	_, _ = b.dial(t, "one").Write([]byte(progress(1)))
	b.eventually(t, "heard", func() bool { return len(b.steps("one")) == 1 })
	b.server.Close("one")
	_, err := os.Lstat(b.path("one"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNamesThatLeaveTheFolderAreRefused(t *testing.T) {
	b := serve(t, socket.DefaultLimits)
	for _, slot := range []string{"", ".", "..", "../x", "a/b", "/etc", "a\x00"} {
		require.Error(t, b.server.Open(context.Background(), slot), "%q", slot)
	}
	require.Error(t, b.server.Open(context.Background(), "not-made-yet"))
}
