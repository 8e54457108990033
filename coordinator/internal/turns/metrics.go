package turns

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the metrics of a Server.
type Metrics struct {
	switches, overdue, postponed, rejected prometheus.Counter
	gap                                    prometheus.Histogram
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	f := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "trellis_coordinator_turn_" + name, Help: help})
	}
	return &Metrics{
		switches:  counter("switches_total", "GPU turns given to jobs."),
		overdue:   counter("overdue_total", "Jobs that did not stop in time, so that others no longer waited for them."),
		postponed: counter("postponed_total", "Stops of jobs with several processes that were postponed, because one of them had gone past the step."),
		rejected:  counter("rejected_total", "Turn connections that were closed for an invalid line."),
		gap: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "trellis_coordinator_turn_gap_seconds",
			Help:    "Time from the last release on a GPU to the next turn, as the coordinator sees it.",
			Buckets: prometheus.ExponentialBuckets(0.00001, 4, 10),
		}),
	}
}
