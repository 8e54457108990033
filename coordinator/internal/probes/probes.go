package probes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Watcher follows the bus.
type Watcher interface {
	Watch(ctx context.Context, prefix string) <-chan bus.Batch
}

// Reach passes a bus's batches on and notes whether it is in reach.
type Reach struct {
	Watcher

	mu   sync.Mutex
	away time.Time // zero while in reach
}

// NewReach watches b, which counts as away until its first batch.
func NewReach(b Watcher, now time.Time) *Reach { return &Reach{Watcher: b, away: now} }

// Watch implements Watcher.
func (r *Reach) Watch(ctx context.Context, prefix string) <-chan bus.Batch {
	out := make(chan bus.Batch)
	go func() {
		defer close(out)
		for batch := range r.Watcher.Watch(ctx, prefix) {
			r.note(batch.Err, time.Now())
			select {
			case out <- batch:
			case <-ctx.Done():
			}
		}
	}()
	return out
}

func (r *Reach) note(err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.away = time.Time{}
	case r.away.IsZero():
		r.away = now
	}
}

// Age is for how long the bus has been away.
func (r *Reach) Age() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away.IsZero() {
		return 0
	}
	return time.Since(r.away)
}

// Server serves the three pages, and explanations to callers on the node.
type Server struct {
	Listen  string
	Alive   func(ctx context.Context) error
	Synced  func() bool
	Age     func() time.Duration
	Metrics prometheus.Gatherer
	Explain explain.Source
}

// Run serves until ctx ends.
func (s Server) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("serving health: %w", err)
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 15 * time.Second, MaxHeaderBytes: 16 << 10}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving health: %w", err)
	}
	return nil
}

// Handler is what Run serves.
func (s Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.livez)
	mux.HandleFunc("GET /healthz", s.livez)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET "+explain.Path, explain.Handler(s.Explain))
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{}))
	return mux
}

func (s Server) livez(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	if err := s.Alive(ctx); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

func (s Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if !s.Synced() {
		http.Error(w, "the node's pods are not known yet: is the API server in reach?", http.StatusServiceUnavailable)
		return
	}
	if age := s.Age(); age > 0 {
		_, _ = fmt.Fprintf(w, "ok, on what was known: the bus has been away for %s\n", age.Round(time.Second))
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}
