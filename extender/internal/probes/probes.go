package probes

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
)

// View shows the cluster as it is now.
type View interface{ Snapshot() *cache.Snapshot }

// Held counts the reservations that wait in memory for the bus.
type Held interface{ Len() int }

// Probes answer /livez, /readyz and /metrics.
type Probes struct {
	View     View
	Held     Held
	Metrics  prometheus.Gatherer
	stopping atomic.Bool
}

// Stop makes /readyz fail: first step of a shutdown.
func (p *Probes) Stop() { p.stopping.Store(true) }

// Handler serves the probes.
func (p *Probes) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", p.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.Metrics, promhttp.HandlerOpts{}))
	return mux
}

// ready answers 200 also while the bus is away: the verbs go on from the last snapshot and memory, and taking every replica
// out of service would help nobody. The text says so.
func (p *Probes) ready(w http.ResponseWriter, _ *http.Request) {
	s := p.View.Snapshot()
	switch {
	case p.stopping.Load():
		http.Error(w, "stopping", http.StatusServiceUnavailable)
	case !s.Synced && s.Away != nil:
		http.Error(w, fmt.Sprintf("waiting for the state bus: %v", s.Away), http.StatusServiceUnavailable)
	case !s.Synced:
		http.Error(w, "waiting for the first full view of the cluster", http.StatusServiceUnavailable)
	case s.Away != nil:
		fmt.Fprintf(w, "degraded: the state bus has been away for %s, %d reservations are held in memory until it is back: %v\n",
			time.Since(s.Since).Round(time.Second), p.Held.Len(), s.Away)
	default:
		fmt.Fprintln(w, "ok")
	}
}
