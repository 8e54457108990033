package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/httpserver"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// reader is a client of a watch without a network, for tests with synthetic time.
type reader struct {
	header http.Header
	mu     sync.Mutex
	code   int
	events []string
	times  []time.Time
	err    error
}

func (r *reader) Header() http.Header              { return r.header }
func (r *reader) WriteHeader(code int)             { r.code = code }
func (r *reader) Flush()                           {}
func (r *reader) SetWriteDeadline(time.Time) error { return nil }
func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, string(p))
	r.times = append(r.times, time.Now())
	return len(p), r.err
}

// written returns the events written so far and their times.
func (r *reader) written() ([]string, []time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events), slices.Clone(r.times)
}

func follow(t *testing.T, handler http.Handler) (*reader, context.CancelFunc, <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{header: http.Header{}}
	done := make(chan struct{})
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/state?watch=1", nil)
	go func() {
		defer close(done)
		handler.ServeHTTP(r, request)
	}()
	synctest.Wait()
	return r, cancel, done
}

func TestWatch_LimitsEventRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(snapshot())
		r, cancel, done := follow(t, handlerOf(s))
		events, _ := r.written()
		require.Len(t, events, 1, "the current state comes at once")
		for step := range int64(100) { // ten changes a second for ten seconds
			next := snapshot()
			next.Jobs[0].Sample.Step = step
			s.set(next)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		events, times := r.written()
		require.InDelta(t, 21, len(events), 1)
		for i := 1; i < len(times); i++ {
			require.GreaterOrEqual(t, times[i].Sub(times[i-1]), 500*time.Millisecond)
		}
		last := events[len(events)-1]
		require.True(t, strings.HasPrefix(last, "data: {") && strings.HasSuffix(last, "}\n\n"))
		require.Contains(t, last, `"step":99`, "the last change is always sent")

		s.set(s.snapshot)
		time.Sleep(10 * time.Second)
		quiet, _ := r.written()
		require.Len(t, quiet, len(events), "an equal document is not sent again")
		time.Sleep(time.Minute)
		events, _ = r.written()
		require.Equal(t, "event: heartbeat\ndata: still here\n\n", events[len(events)-1], "a page sees no comments")
		cancel()
		<-done
	})
}

func TestWatch_SendsLargeStatesLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := func(step int64) *history.Snapshot {
			next := snapshot()
			next.Jobs[0].Sample.Step = step
			next.Jobs[0].Sample.Metric = strings.Repeat("m", 1_000_000)
			return next
		}
		s := newSource(large(0))
		r, cancel, done := follow(t, handlerOf(s))
		for step := range int64(100) {
			s.set(large(step + 1))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		events, times := r.written()
		require.InDelta(t, 6, len(events), 1, "half a megabyte a second for ten seconds")
		for i := 1; i < len(times); i++ {
			require.GreaterOrEqual(t, times[i].Sub(times[i-1]), 2*time.Second)
		}
		require.Contains(t, events[len(events)-1], `"step":100`, "the last change is always sent")
		cancel()
		<-done
	})
}

func TestWatch_DropsBrokenClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(snapshot())
		r, cancel, done := follow(t, handlerOf(s))
		defer cancel()
		r.mu.Lock()
		r.err = errors.New("broken pipe")
		r.mu.Unlock()
		s.set(&history.Snapshot{})
		<-done
	})
}

func TestWatch_LimitsClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dashboard := handlerOf(newSource(snapshot()))
		for range 64 {
			_, cancel, _ := follow(t, dashboard)
			defer cancel()
		}
		r, _, done := follow(t, dashboard)
		<-done
		require.Equal(t, http.StatusServiceUnavailable, r.code)
		require.Equal(t, http.StatusOK, get(t, dashboard, "/api/v1/state").StatusCode)
	})
}

func TestDashboard_EndsWatchesOnShutdown(t *testing.T) {
	server, err := httpserver.Listen("127.0.0.1:0", httpserver.Config{Handler: handlerOf(newSource(snapshot())), EndStreams: true})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Run() }()
	reply, err := http.Get("http://" + server.Addr().String() + "/api/v1/state?watch=1")
	require.NoError(t, err)
	defer reply.Body.Close()
	first := make([]byte, 6)
	_, err = io.ReadFull(reply.Body, first)
	require.NoError(t, err)
	require.Equal(t, "data: ", string(first))
	server.Stop()
	require.NoError(t, <-ended)
	_, err = io.ReadAll(reply.Body)
	require.NoError(t, err, "the stream ends, it is not cut off")
}
