package probes

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// aliveTimeout bounds a check of liveness.
const aliveTimeout = 10 * time.Second

// Probes answers the probes of one process.
type Probes struct {
	// Alive returns an error if the process must be restarted. If Alive is nil, a process that answers is alive.
	Alive func(ctx context.Context) error
	// Ready returns an error if the process is not ready, and otherwise what is degraded, one sentence each.
	Ready func() (degraded []string, err error)
	// Metrics are the metrics of the process.
	Metrics *prometheus.Registry
	// Pages are further handlers on the same port, by pattern of http.ServeMux.
	Pages map[string]http.Handler

	stopping atomic.Bool
}

// Stop makes readiness fail.
func (p *Probes) Stop() { p.stopping.Store(true) }

// Handler serves the probes, the metrics and the further pages.
func (p *Probes) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", p.livez)
	mux.HandleFunc("GET /healthz", p.livez)
	mux.HandleFunc("GET /readyz", p.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.Metrics, promhttp.HandlerOpts{Registry: p.Metrics}))
	for pattern, handler := range p.Pages {
		mux.Handle(pattern, handler)
	}
	return mux
}

func (p *Probes) livez(w http.ResponseWriter, r *http.Request) {
	if p.Alive != nil {
		ctx, cancel := context.WithTimeout(r.Context(), aliveTimeout)
		defer cancel()
		if err := p.Alive(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	_, _ = fmt.Fprintln(w, "ok")
}

func (p *Probes) readyz(w http.ResponseWriter, _ *http.Request) {
	if p.stopping.Load() {
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	}
	degraded, err := p.Ready()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
	for _, sentence := range degraded {
		_, _ = fmt.Fprintln(w, "degraded:", sentence)
	}
}
