package probes_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/probes"
)

// source always returns the same snapshot.
type source struct{ snapshot *history.Snapshot }

func (s source) Snapshot() (*history.Snapshot, <-chan struct{}) { return s.snapshot, nil }

func TestReadyz_DependsOnTheBus(t *testing.T) {
	for name, c := range map[string]struct {
		snapshot *history.Snapshot
		code     int
		says     string
	}{
		"the bus has never been available": {&history.Snapshot{Err: bus.ErrUnavailable}, http.StatusServiceUnavailable, "not been read"},
		"the bus has not been read yet":    {&history.Snapshot{}, http.StatusServiceUnavailable, "not been read"},
		"the bus is connected":             {&history.Snapshot{Synced: true}, http.StatusOK, "ok"},
		"the bus is unavailable":           {&history.Snapshot{Synced: true, Err: bus.ErrUnavailable}, http.StatusOK, "degraded"},
	} {
		t.Run(name, func(t *testing.T) {
			handler := probes.New(source{c.snapshot}, prometheus.NewRegistry()).Handler()
			get := func(path string) *httptest.ResponseRecorder {
				reply := httptest.NewRecorder()
				handler.ServeHTTP(reply, httptest.NewRequest(http.MethodGet, path, http.NoBody))
				return reply
			}
			require.Equal(t, c.code, get("/readyz").Code)
			require.Contains(t, get("/readyz").Body.String(), c.says)
			require.Equal(t, http.StatusOK, get("/livez").Code)
		})
	}
}
