package probes_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/probes"
	daemonprobes "github.com/trellis-gpu/trellis/daemon/probes"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
)

func TestReady_ReportsPodsAndBus(t *testing.T) {
	unavailable := func() time.Duration { return 3 * time.Second }
	registry := prometheus.NewRegistry()
	metrics.New(registry, unavailable).Jobs(map[growth.Category]int{growth.Watching: 2})
	yes, connected := func() bool { return true }, func() time.Duration { return 0 }
	for name, tc := range map[string]struct {
		synced      func() bool
		unavailable func() time.Duration
		path        string
		code        int
		says        string
	}{
		"ready":         {yes, connected, "/readyz", 200, "ok\n"},
		"no pods yet":   {func() bool { return false }, connected, "/readyz", 503, "API server"},
		"no bus":        {yes, unavailable, "/readyz", 200, "unavailable for 3s"},
		"jobs, counted": {yes, connected, "/metrics", 200, `trellis_coordinator_jobs{category="Watching"} 2`},
		"bus, measured": {yes, connected, "/metrics", 200, "trellis_coordinator_bus_age_seconds 3"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &daemonprobes.Probes{Metrics: registry, Ready: probes.Ready(tc.synced, tc.unavailable)}
			w := httptest.NewRecorder()
			p.Handler().ServeHTTP(w, httptest.NewRequest("GET", tc.path, nil))
			require.Equal(t, tc.code, w.Code)
			require.Contains(t, w.Body.String(), tc.says)
		})
	}
}

func TestConnection_MeasuresUnavailability(t *testing.T) {
	b := membus.New()
	connection := probes.NewConnection(b.Session(), time.Now().Add(-time.Minute))
	require.Greater(t, connection.Unavailable(), 30*time.Second, "unavailable until the first batch")
	batches := connection.Watch(t.Context(), bus.Jobs)
	require.True(t, (<-batches).Reset)
	require.Zero(t, connection.Unavailable())
	b.Fail(bus.ErrUnavailable)
	require.Error(t, (<-batches).Err)
	require.Positive(t, connection.Unavailable())
	b.Fail(nil)
	<-batches
	require.Zero(t, connection.Unavailable())
}
