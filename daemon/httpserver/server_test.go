package httpserver_test

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/httpserver"
)

// serve runs a server until the test ends. The channel receives the result of Run.
func serve(t *testing.T, c httpserver.Config) (*httpserver.Server, chan error) {
	t.Helper()
	server, err := httpserver.Listen("127.0.0.1:0", c)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Run() }()
	t.Cleanup(server.Stop)
	return server, ended
}

func TestStop_WaitsForRequestsInProgress(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	server, ended := serve(t, httpserver.Config{
		Drain: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(begun)
			<-finish
			_, _ = io.WriteString(w, "answer")
		}),
	})
	answers := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + server.Addr().String())
		if err != nil {
			answers <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answers <- string(body)
	}()
	<-begun
	stopped := make(chan struct{})
	go func() { server.Stop(); close(stopped) }()
	require.NoError(t, <-ended)
	_, err := net.Dial("tcp", server.Addr().String())
	require.Error(t, err, "the port is closed before the requests end")
	select {
	case <-stopped:
		require.Fail(t, "Stop returned during a request")
	default:
	}
	close(finish)
	require.Equal(t, "answer", <-answers)
	<-stopped
}

func TestStop_EndsStreams(t *testing.T) {
	begun := make(chan struct{})
	server, ended := serve(t, httpserver.Config{
		Drain: time.Minute, EndStreams: true,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
		}),
	})
	go func() {
		if response, err := http.Get("http://" + server.Addr().String()); err == nil {
			_ = response.Body.Close()
		}
	}()
	<-begun
	server.Stop()
	require.NoError(t, <-ended)
}

func TestListen_NamesThePort(t *testing.T) {
	server, _ := serve(t, httpserver.Config{Handler: http.NotFoundHandler()})
	_, err := httpserver.Listen(server.Addr().String(), httpserver.Config{})
	require.ErrorContains(t, err, server.Addr().String())
}

func TestStop_BeforeRun(t *testing.T) {
	server, err := httpserver.Listen("127.0.0.1:0", httpserver.Config{Handler: http.NotFoundHandler()})
	require.NoError(t, err)
	server.Stop()
	require.NoError(t, server.Run())
}
