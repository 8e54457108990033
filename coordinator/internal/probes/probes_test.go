package probes_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/probes"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
)

func TestPages(t *testing.T) {
	registry := prometheus.NewRegistry()
	age := func() time.Duration { return 3 * time.Second }
	metrics.New(registry, age).Jobs(map[growth.Category]int{growth.Watching: 2})
	ok := probes.Server{Alive: func(context.Context) error { return nil }, Synced: func() bool { return true }, Age: func() time.Duration { return 0 }, Metrics: registry}
	for name, tc := range map[string]struct {
		spoil func(*probes.Server)
		path  string
		code  int
		says  string
	}{
		"alive":         {func(*probes.Server) {}, "/livez", 200, "ok"},
		"stuck":         {func(s *probes.Server) { s.Alive = func(context.Context) error { return errors.New("stuck") } }, "/healthz", 500, "stuck"},
		"ready":         {func(*probes.Server) {}, "/readyz", 200, "ok\n"},
		"no pods yet":   {func(s *probes.Server) { s.Synced = func() bool { return false } }, "/readyz", 503, "API server"},
		"no bus":        {func(s *probes.Server) { s.Age = age }, "/readyz", 200, "away for 3s"},
		"jobs, counted": {func(*probes.Server) {}, "/metrics", 200, `trellis_coordinator_jobs{category="Watching"} 2`},
		"bus, measured": {func(*probes.Server) {}, "/metrics", 200, "trellis_coordinator_bus_age_seconds 3"},
	} {
		t.Run(name, func(t *testing.T) {
			server := ok
			tc.spoil(&server)
			w := httptest.NewRecorder()
			server.Handler().ServeHTTP(w, httptest.NewRequest("GET", tc.path, nil))
			require.Equal(t, tc.code, w.Code)
			require.Contains(t, w.Body.String(), tc.says)
		})
	}
}

func TestReach(t *testing.T) {
	b := membus.New()
	reach := probes.NewReach(b.Session(), time.Now().Add(-time.Minute))
	require.Greater(t, reach.Age(), 30*time.Second, "away until it was there")
	batches := reach.Watch(t.Context(), bus.Jobs)
	require.True(t, (<-batches).Reset)
	require.Zero(t, reach.Age())
	b.Fail(bus.ErrUnavailable)
	require.Error(t, (<-batches).Err)
	require.Positive(t, reach.Age())
	b.Fail(nil)
	<-batches
	require.Zero(t, reach.Age())
}
