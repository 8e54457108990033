package webhook_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/webhook"
)

func TestInspect_BothPaths(t *testing.T) {
	for path, want := range map[string]struct {
		code int
		body string
	}{
		"/inspect":                         {http.StatusOK, `{"nodes":[{"name":"of ","totalGPU":0,"usedGPU":0,"devs":[]}]}`},
		"/inspect/n":                       {http.StatusOK, `{"nodes":[{"name":"of n","totalGPU":0,"usedGPU":0,"devs":[]}]}`},
		"/gpushare-scheduler/inspect":      {http.StatusOK, `{"nodes":[{"name":"of ","totalGPU":0,"usedGPU":0,"devs":[]}]}`},
		"/gpushare-scheduler/inspect/n":    {http.StatusOK, `{"nodes":[{"name":"of n","totalGPU":0,"usedGPU":0,"devs":[]}]}`},
		"/gpushare-scheduler/inspect/gone": {http.StatusNotFound, `{"nodes":[],"error":"nothing is known about node gone"}`},
	} {
		answer := httptest.NewRecorder()
		webhook.Handler(&fakeScheduler{}, &fakeScheduler{}, slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		require.Equal(t, want.code, answer.Code, path)
		require.JSONEq(t, want.body, answer.Body.String(), path)
	}
}
