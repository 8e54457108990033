package turns

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the metrics of a Server.
type Metrics struct {
	turns, switches              *prometheus.CounterVec
	overdue, postponed, rejected prometheus.Counter
	gap                          prometheus.Histogram
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	f := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "trellis_coordinator_turn_" + name, Help: help})
	}
	perGPU := func(name, help string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "trellis_coordinator_" + name, Help: help}, []string{"gpu"})
	}
	return &Metrics{
		turns:     perGPU("turns_total", "Turns of a GPU given to jobs."),
		switches:  perGPU("turn_switches_total", "Turns of a GPU that passed from one job to another."),
		overdue:   counter("overdue_total", "Jobs that did not stop in time, so that others no longer waited for them."),
		postponed: counter("postponed_total", "Stops of jobs with several processes that were postponed, because one of them had gone past the step."),
		rejected:  counter("rejected_total", "Turn connections that were closed for an invalid line."),
		gap: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "trellis_coordinator_turn_gap_seconds",
			Help:    "Time for which a ready job waited for the turn of a GPU that another job had released.",
			Buckets: prometheus.ExponentialBuckets(0.00001, 4, 10),
		}),
	}
}
