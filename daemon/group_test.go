package daemon

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/httpserver"
	"github.com/trellis-gpu/trellis/daemon/probes"
)

func newGroup(t *testing.T) *Group {
	t.Helper()
	g, err := NewGroup(&probes.Probes{
		Ready:   func() ([]string, error) { return nil, nil },
		Metrics: prometheus.NewRegistry(),
	}, "127.0.0.1:0")
	require.NoError(t, err)
	return g
}

// status is what a page answers, 0 without an answer.
func status(url string) int {
	response, err := http.Get(url)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestGroup_StopsInOrder(t *testing.T) {
	g := newGroup(t)
	ctx, stop := context.WithCancel(t.Context())
	ready := "http://" + g.server.Addr().String() + "/readyz"
	begun := make(chan struct{})
	atDrain := make(chan int, 2)
	requests, err := httpserver.Listen("127.0.0.1:0", httpserver.Config{
		Drain: time.Minute,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			for status(ready) == http.StatusOK {
				time.Sleep(time.Millisecond)
			}
			atDrain <- status(ready)
		}),
	})
	require.NoError(t, err)
	g.Serve(requests)
	answered := make(chan int, 1)
	g.Add(func(ctx context.Context) error {
		<-ctx.Done()
		atDrain <- status("http://" + requests.Addr().String())
		return ctx.Err()
	})
	go func() { answered <- status("http://" + requests.Addr().String()) }()
	go func() { <-begun; stop() }()
	require.NoError(t, g.Run(ctx), "a signal is no failure")
	require.Equal(t, http.StatusServiceUnavailable, <-atDrain, "readiness fails while requests are answered")
	require.Equal(t, http.StatusOK, <-answered, "a request in progress is answered")
	require.Zero(t, <-atDrain, "a part stops after the server before it")
}

func TestGroup_FirstPartStopsAll(t *testing.T) {
	g := newGroup(t)
	stopped := false
	g.Add(
		func(context.Context) error { return errors.New("the bus's session ended") },
		func(ctx context.Context) error { <-ctx.Done(); stopped = true; return nil },
	)
	require.EqualError(t, g.Run(t.Context()), "the bus's session ended")
	require.True(t, stopped)
}

func TestNewGroup_NamesTheFlag(t *testing.T) {
	g := newGroup(t)
	defer g.server.Stop()
	_, err := NewGroup(g.probes, g.server.Addr().String())
	require.ErrorContains(t, err, "--health-listen")
}
