package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// drainWithin is how long requests may take to end at a shutdown.
const drainWithin = 2 * time.Second

// probes is the listener for probes and metrics.
type probes struct {
	listener net.Listener
	server   *http.Server
}

func listen(address string, a *app, registry *prometheus.Registry) (*probes, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--health-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", a.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return &probes{listener: listener, server: &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 14,
	}}, nil
}

// readyz is ready once kubelet knows us: pods can be given devices. What is only degraded is said, not failed.
func (a *app) readyz(w http.ResponseWriter, _ *http.Request) {
	if !a.life.Registered() {
		http.Error(w, "not registered with kubelet", http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
	if reason := a.ledger.BusErr(); reason != nil {
		_, _ = fmt.Fprintln(w, "degraded: the bus is away, allocations wait:", reason)
	}
	if _, known := a.pods.Pods(); !known {
		_, _ = fmt.Fprintln(w, "degraded: the API server has not listed this node's pods yet")
	}
	if a.stock.Failing() {
		_, _ = fmt.Fprintln(w, "degraded: the GPUs could not be listed, the last list stays")
	}
}

// Run serves until ctx ends.
func (h *probes) Run(ctx context.Context) error {
	context.AfterFunc(ctx, func() {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWithin)
		defer cancel()
		_ = h.server.Shutdown(drain)
	})
	if err := h.server.Serve(h.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving health: %w", err)
	}
	return nil
}

// gpuCollector counts GPUs by health when it is asked.
type gpuCollector struct{ stock *stocked }

var gpusDesc = prometheus.NewDesc("trellis_deviceplugin_gpus", "GPUs of this node.", []string{"health", "emulated"}, nil)

// Describe implements prometheus.Collector.
func (gpuCollector) Describe(descs chan<- *prometheus.Desc) { descs <- gpusDesc }

// Collect implements prometheus.Collector.
func (g gpuCollector) Collect(metrics chan<- prometheus.Metric) {
	devices, _ := g.stock.Devices()
	healthy := 0
	for _, d := range devices {
		if d.Healthy {
			healthy++
		}
	}
	emulated := fmt.Sprint(g.stock.emulated)
	metrics <- prometheus.MustNewConstMetric(gpusDesc, prometheus.GaugeValue, float64(healthy), "healthy", emulated)
	metrics <- prometheus.MustNewConstMetric(gpusDesc, prometheus.GaugeValue, float64(len(devices)-healthy), "unhealthy", emulated)
}
