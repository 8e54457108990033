package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/trellis-gpu/trellis/extender/internal/view"
)

// View shows the cluster as it is now.
type View interface{ Snapshot() *view.Snapshot }

// Metrics counts what the extender does. It is the webhook's observer.
type Metrics struct {
	Registry *prometheus.Registry

	latency   *prometheus.HistogramVec
	binds     *prometheus.CounterVec
	conflicts prometheus.Counter
}

// NewMetrics registers all metrics; outcomes are the results that a bind may have.
func NewMetrics(v View, outcomes []string) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "trellis_extender_request_duration_seconds", Help: "Time to answer the scheduler, by verb.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 17), // 0.1 ms to 6.6 s
		}, []string{"verb"}),
		binds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_extender_binds_total", Help: "Binds, by result.",
		}, []string{"result"}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trellis_extender_reservation_conflicts_total", Help: "Decisions to reserve that others overtook.",
		}),
	}
	for _, outcome := range outcomes {
		m.binds.WithLabelValues(outcome)
	}
	m.Registry.MustRegister(m.latency, m.binds, m.conflicts, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, gauge := range gauges(v) {
		m.Registry.MustRegister(gauge)
	}
	return m
}

func gauges(v View) []prometheus.Collector {
	gauge := func(name, help string, read func(*view.Snapshot) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "trellis_extender_" + name, Help: help},
			func() float64 { return read(v.Snapshot()) })
	}
	return []prometheus.Collector{
		gauge("bus_up", "1 while the state bus can be reached.", func(s *view.Snapshot) float64 {
			if s.Away != nil || !s.Synced {
				return 0
			}
			return 1
		}),
		gauge("snapshot_age_seconds", "How long the bus has been away from the snapshot that answers are decided on.", func(s *view.Snapshot) float64 {
			if s.Away == nil {
				return 0
			}
			return time.Since(s.Since).Seconds()
		}),
		gauge("overcommitted_bytes", "GPU memory held beyond what GPUs have. Must be 0.", func(s *view.Snapshot) float64 {
			return float64(s.OverCommitted()) * (1 << 20)
		}),
		gauge("refused_records", "Records on the bus that this build can not read.", func(s *view.Snapshot) float64 {
			return float64(s.Refused)
		}),
		gauge("reservations", "Reservations that wait for kubelet.", func(s *view.Snapshot) float64 {
			waiting := 0
			for _, n := range s.Nodes.All() {
				waiting += len(n.Reservations)
			}
			return float64(waiting)
		}),
	}
}

// Answered observes the time of an answer.
func (m *Metrics) Answered(verb string, took time.Duration) {
	m.latency.WithLabelValues(verb).Observe(took.Seconds())
}

// Bound counts a bind.
func (m *Metrics) Bound(outcome string) { m.binds.WithLabelValues(outcome).Inc() }

// Conflicted counts a decision that was overtaken.
func (m *Metrics) Conflicted() { m.conflicts.Inc() }
