package probes_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/probes"
)

func TestProbes(t *testing.T) {
	for name, tc := range map[string]struct {
		alive    error
		unready  error
		degraded []string
		stop     bool
		path     string
		code     int
		body     string
	}{
		"alive":             {path: "/livez", code: 200, body: "ok\n"},
		"alive, old path":   {path: "/healthz", code: 200, body: "ok\n"},
		"stuck":             {alive: errors.New("stuck"), path: "/livez", code: 500, body: "stuck\n"},
		"ready":             {path: "/readyz", code: 200, body: "ok\n"},
		"not ready":         {unready: errors.New("no snapshot yet"), path: "/readyz", code: 503, body: "no snapshot yet\n"},
		"degraded":          {degraded: []string{"no bus", "no pods"}, path: "/readyz", code: 200, body: "ok\ndegraded: no bus\ndegraded: no pods\n"},
		"stopping":          {stop: true, path: "/readyz", code: 503, body: "stopping\n"},
		"alive to the end":  {stop: true, path: "/livez", code: 200, body: "ok\n"},
		"a page of its own": {path: "/page", code: 418, body: ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &probes.Probes{
				Alive:   func(context.Context) error { return tc.alive },
				Ready:   func() ([]string, error) { return tc.degraded, tc.unready },
				Metrics: prometheus.NewRegistry(),
				Pages: map[string]http.Handler{
					"GET /page": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
				},
			}
			if tc.stop {
				p.Stop()
			}
			answer := httptest.NewRecorder()
			p.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, tc.path, http.NoBody))
			require.Equal(t, tc.code, answer.Code)
			require.Equal(t, tc.body, answer.Body.String())
		})
	}
}
