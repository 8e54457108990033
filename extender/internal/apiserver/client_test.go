package apiserver_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/apiserver"
)

// TestConnect_ReportsWaitsOfRateLimiter makes three calls with a burst of one and two calls per second.
func TestConnect_ReportsWaitsOfRateLimiter(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}`))
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],
		"clusters":[{"name":"c","cluster":{"server":"`+server.URL+`"}}]}`), 0o600))
	var waits []time.Duration
	client, err := apiserver.Connect(apiserver.Config{Kubeconfig: file, QPS: 2, Burst: 1}, func(d time.Duration) { waits = append(waits, d) })
	require.NoError(t, err)
	for range 3 {
		pod, err := apiserver.API{Client: client}.Pod(t.Context(), "default", "p")
		require.NoError(t, err)
		require.Equal(t, "p", pod.Name)
	}
	require.Len(t, waits, 3)
	require.Less(t, waits[0], 250*time.Millisecond)
	require.Greater(t, waits[1]+waits[2], 500*time.Millisecond, "half a second each, less what the calls themselves took")
}
