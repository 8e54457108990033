package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/trellis-gpu/trellis/growth"
)

// Metrics are the coordinator's own.
type Metrics struct {
	// Reports counts progress reports that were taken in.
	Reports prometheus.Counter
	// Dropped counts lines that were not, by reason: malformed, unknown, rate.
	Dropped *prometheus.CounterVec
	// Resizes counts CPU resizes by result: verified, unverified, failed, gone, refused.
	Resizes *prometheus.CounterVec
	// Decision is how long dividing the node takes.
	Decision prometheus.Histogram
	jobs     *prometheus.GaugeVec
	uses     *uses
}

// New registers the metrics. age tells for how long the bus has not been heard of.
func New(registry prometheus.Registerer, age func() time.Duration) *Metrics {
	f := promauto.With(registry)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "trellis_coordinator_bus_age_seconds", Help: "Time since the state bus was last in reach; 0 while it is.",
	}, func() float64 { return age().Seconds() })
	used := &uses{}
	registry.MustRegister(used)
	return &Metrics{
		uses: used,
		Reports: f.NewCounter(prometheus.CounterOpts{
			Name: "trellis_coordinator_reports_total", Help: "Progress reports taken in from jobs.",
		}),
		Dropped: f.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_coordinator_lines_dropped_total", Help: "Lines from jobs that were not taken in, by reason.",
		}, []string{"reason"}),
		Resizes: f.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_coordinator_resizes_total", Help: "In-place CPU resizes, by result.",
		}, []string{"result"}),
		Decision: f.NewHistogram(prometheus.HistogramOpts{
			Name: "trellis_coordinator_decision_seconds", Help: "Time to observe the node's jobs and divide its CPU among them.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 8),
		}),
		jobs: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "trellis_coordinator_jobs", Help: "Running jobs of this node, by category.",
		}, []string{"category"}),
	}
}

// Jobs sets how many jobs there are in each category.
func (m *Metrics) Jobs(count map[growth.Category]int) {
	for _, c := range []growth.Category{growth.Progressing, growth.Watching, growth.Converged} {
		m.jobs.WithLabelValues(string(c)).Set(float64(count[c]))
	}
}
