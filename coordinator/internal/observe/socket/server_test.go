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

// patience bounds how long a test waits.
const patience = 10 * time.Second

// received collects the events of the server, by slot.
type received struct {
	mu     sync.Mutex
	events map[string][]socket.Event
}

func (r *received) handle(slot string, e socket.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[slot] = append(r.events[slot], e)
}

func (r *received) steps(slot string) []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var steps []int64
	for _, e := range r.events[slot] {
		if m, ok := e.(socket.Reported); ok {
			for _, report := range m.Reports {
				steps = append(steps, report.Step)
			}
		}
	}
	return steps
}

func (r *received) faults(slot string) socket.Faults {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sum socket.Faults
	for _, e := range r.events[slot] {
		if f, ok := e.(socket.Faults); ok {
			sum.Malformed += f.Malformed
			sum.Unknown += f.Unknown
			sum.Dropped += f.Dropped
			sum.Closed = sum.Closed || f.Closed
		}
	}
	return sum
}

func (r *received) delivered(slot string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.events[slot] {
		if _, ok := e.(socket.Delivered); ok {
			n++
		}
	}
	return n
}

// harness is a server with a temporary state folder.
type harness struct {
	*received
	server *socket.Server
	state  string
}

func serve(t *testing.T, limits socket.Limits, slots ...string) harness {
	t.Helper()
	h := harness{received: &received{events: map[string][]socket.Event{}}, state: t.TempDir()}
	server, err := socket.New(h.state, limits, slog.New(slog.DiscardHandler), h.handle)
	require.NoError(t, err)
	h.server = server
	t.Cleanup(server.Shutdown)
	for _, slot := range slots {
		require.NoError(t, os.MkdirAll(filepath.Join(h.state, gpushare.SlotsDir, slot), 0o755))
		require.NoError(t, server.Open(context.Background(), slot))
	}
	return h
}

func (h harness) path(slot string) string {
	return filepath.Join(h.state, gpushare.SlotsDir, slot, gpushare.SocketName)
}

func (h harness) dial(t *testing.T, slot string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", h.path(slot))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func progress(step int) string {
	return fmt.Sprintf("{\"v\":1,\"type\":\"progress\",\"step\":%d}\n", step)
}

func (h harness) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, patience, 5*time.Millisecond, what)
}

func TestServer_SocketIdentifiesTheSlot(t *testing.T) {
	h := serve(t, socket.DefaultLimits, "one", "two")
	_, _ = h.dial(t, "one").Write([]byte(progress(1)))
	_, _ = h.dial(t, "two").Write([]byte(progress(2)))
	h.eventually(t, "both", func() bool { return len(h.steps("one")) == 1 && len(h.steps("two")) == 1 })
	require.Equal(t, []int64{1}, h.steps("one"))
	require.Equal(t, []int64{2}, h.steps("two"))
}

func TestServer_SocketIsAccessibleToAllUsers(t *testing.T) {
	h := serve(t, socket.DefaultLimits, "one")
	info, err := os.Lstat(h.path("one"))
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o666, info.Mode())
}

// The job of slot "bad" sends each of these; the reports of "good" still arrive.
func TestServer_CountsTheFaultsOfHostileJobs(t *testing.T) {
	long := strings.Repeat("x", 3*wire.MaxLine)
	for name, tc := range map[string]struct {
		sends string
		want  func(socket.Faults) bool
	}{
		"garbage": {
			sends: "\x00\xff\n{}\nnot json\n",
			want:  func(f socket.Faults) bool { return f.Malformed == 3 && !f.Closed },
		},
		"a future version": {
			sends: "{\"v\":9,\"type\":\"progress\"}\n",
			want:  func(f socket.Faults) bool { return f.Malformed == 1 },
		},
		"an unknown type": {
			sends: "{\"v\":1,\"type\":\"poem\"}\n",
			want:  func(f socket.Faults) bool { return f.Unknown == 1 && f.Malformed == 0 },
		},
		"a message of the coordinator": {
			sends: "{\"v\":1,\"type\":\"config\",\"generation\":1}\n",
			want:  func(f socket.Faults) bool { return f.Malformed == 1 },
		},
		"a huge line": {
			sends: long + "\n" + progress(7),
			want:  func(f socket.Faults) bool { return f.Malformed == 1 },
		},
		"a line without newline": {
			sends: long,
			want:  func(f socket.Faults) bool { return f.Malformed == 1 },
		},
		"the end in the middle of a line": {
			sends: `{"v":1,"type":"progr`,
			want:  func(f socket.Faults) bool { return f == socket.Faults{} },
		},
		"only malformed lines": {
			sends: strings.Repeat("?\n", 150),
			want:  func(f socket.Faults) bool { return f.Malformed == 101 && f.Closed },
		},
		"a flood": {
			sends: strings.Repeat(progress(1), 1000),
			want:  func(f socket.Faults) bool { return f.Dropped >= 500 && f.Malformed == 0 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, socket.DefaultLimits, "bad", "good")
			bad := h.dial(t, "bad")
			_, _ = bad.Write([]byte(tc.sends))
			_ = bad.Close()
			good := h.dial(t, "good")
			_, err := good.Write([]byte(progress(1)))
			require.NoError(t, err)
			h.eventually(t, "the report of the good job", func() bool { return len(h.steps("good")) == 1 })
			h.eventually(t, "the faults of the bad job", func() bool { return tc.want(h.faults("bad")) })
			require.Zero(t, h.faults("good"))
			again := h.dial(t, "bad")
			_, err = again.Write([]byte("\n"))
			require.NoError(t, err, "the job may connect again")
		})
	}
}

func TestServer_ReceivesTheLineAfterAHugeOne(t *testing.T) {
	h := serve(t, socket.DefaultLimits, "one")
	_, _ = h.dial(t, "one").Write([]byte(strings.Repeat("x", 2*wire.MaxLine) + "\n" + progress(7)))
	h.eventually(t, "the next line", func() bool { return len(h.steps("one")) == 1 })
}

func TestServer_SendsTheConfigToCurrentAndLaterConnections(t *testing.T) {
	h := serve(t, socket.DefaultLimits, "one")
	first := bufio.NewReader(h.dial(t, "one"))
	h.eventually(t, "connected", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.events["one"]) == 1
	})
	loaders := 3
	require.NoError(t, h.server.Send("one", wire.Config{Generation: 5, Values: wire.Values{Loaders: &loaders}}))
	second := bufio.NewReader(h.dial(t, "one"))
	for _, reader := range []*bufio.Reader{first, second} {
		line, err := reader.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "{\"v\":1,\"type\":\"config\",\"generation\":5,\"loaders\":3}\n", line)
	}
	h.eventually(t, "delivered", func() bool { return h.delivered("one") == 2 })
	require.Error(t, h.server.Send("elsewhere", wire.Config{}))
}

func TestServer_SendsStopsToLaterConnectionsAndSavesToPresentOnes(t *testing.T) {
	h := serve(t, socket.DefaultLimits, "one")
	first := bufio.NewReader(h.dial(t, "one"))
	h.eventually(t, "connected", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.events["one"]) == 1
	})
	require.NoError(t, h.server.SendSave("one", wire.Save{Reason: "test", DeadlineSeconds: 9, Request: 4}))
	line, err := first.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "{\"v\":1,\"type\":\"save\",\"reason\":\"test\",\"deadline_seconds\":9,\"request\":4}\n", line)
	require.NoError(t, h.server.SendStop("one", wire.Stop{Sequence: 5, Stop: true}))
	second := bufio.NewReader(h.dial(t, "one"))
	for _, reader := range []*bufio.Reader{first, second} {
		line, err := reader.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "{\"v\":1,\"type\":\"stop\",\"sequence\":5,\"stop\":true}\n", line)
	}
}

func TestServer_SendNeverBlocksOnAJobThatDoesNotRead(t *testing.T) {
	limits := socket.DefaultLimits
	limits.WriteTimeout = 50 * time.Millisecond
	h := serve(t, limits, "silent")
	silent := h.dial(t, "silent")
	_, _ = silent.Write([]byte(progress(1)))
	h.eventually(t, "connected", func() bool { return len(h.steps("silent")) == 1 })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		// Writing fails once the server has closed the connection. Reading would empty the buffer that must fill up.
		for {
			if _, err := silent.Write([]byte(progress(1))); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	deadline := time.After(patience)
	for generation := int64(1); ; generation++ {
		began := time.Now()
		require.NoError(t, h.server.Send("silent", wire.Config{Generation: generation}))
		require.Less(t, time.Since(began), time.Second, "Send never blocks")
		select {
		case <-closed:
			return
		case <-deadline:
			t.Fatal("the connection is still open")
		default:
		}
	}
}

func TestServer_BoundsTheConnectionsOfASlot(t *testing.T) {
	h := serve(t, socket.DefaultLimits, "one")
	oldest := h.dial(t, "one")
	for range socket.DefaultLimits.Connections {
		_, _ = h.dial(t, "one").Write([]byte(progress(1)))
	}
	h.eventually(t, "all reports", func() bool { return len(h.steps("one")) == socket.DefaultLimits.Connections })
	_ = oldest.SetReadDeadline(time.Now().Add(patience))
	_, err := oldest.Read(make([]byte, 1))
	require.ErrorContains(t, err, "EOF", "the oldest connection is closed")
}

func TestServer_RecreatesARemovedSocket(t *testing.T) {
	h := serve(t, socket.DefaultLimits, "one")
	require.NoError(t, h.server.Open(context.Background(), "one"), "a second Open changes nothing")
	require.NoError(t, os.Remove(h.path("one")))
	require.NoError(t, h.server.Open(context.Background(), "one"))
	_, _ = h.dial(t, "one").Write([]byte(progress(1)))
	h.eventually(t, "the report", func() bool { return len(h.steps("one")) == 1 })
	h.server.Close("one")
	_, err := os.Lstat(h.path("one"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Error(t, h.server.Open(context.Background(), "../one"))
}
