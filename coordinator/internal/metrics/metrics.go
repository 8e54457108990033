package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/trellis-gpu/trellis/growth"
)

// Metrics are the metrics of a coordinator.
type Metrics struct {
	// Reports counts the progress reports that were accepted.
	Reports prometheus.Counter
	// Dropped counts the lines that were rejected, by reason: malformed, unknown, rate.
	Dropped *prometheus.CounterVec
	// Resizes counts CPU resizes by result: verified, unverified, failed, conflict, gone, refused.
	Resizes *prometheus.CounterVec
	// Trials counts trials of two jobs at the same time by result: faster, slower, unmeasured. TrialLoss is what they cost.
	Trials    *prometheus.CounterVec
	TrialLoss prometheus.Counter
	// Decision measures the time of a decision.
	Decision prometheus.Histogram
	jobs     *prometheus.GaugeVec
	usages   *usages
	gpuTimes *gpuTimes
}

// New registers the metrics. unavailable returns for how long the bus has been unavailable.
func New(registry prometheus.Registerer, unavailable func() time.Duration) *Metrics {
	f := promauto.With(registry)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "trellis_coordinator_bus_age_seconds",
		Help: "Time since the state bus was last connected; 0 while it is.",
	}, func() float64 { return unavailable().Seconds() })
	usages := &usages{}
	times := &gpuTimes{}
	registry.MustRegister(usages, times)
	return &Metrics{
		usages:   usages,
		gpuTimes: times,
		Reports: f.NewCounter(prometheus.CounterOpts{
			Name: "trellis_coordinator_reports_total",
			Help: "Progress reports accepted from jobs.",
		}),
		Dropped: f.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_coordinator_lines_dropped_total",
			Help: "Lines from jobs that were rejected, by reason.",
		}, []string{"reason"}),
		Resizes: f.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_coordinator_resizes_total",
			Help: "In-place CPU resizes, by result.",
		}, []string{"result"}),
		Trials: f.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_coordinator_gpu_trials_total",
			Help: "Trials of two jobs that compute at the same time, by result: faster or slower than in turns, or unmeasured.",
		}, []string{"result"}),
		TrialLoss: f.NewCounter(prometheus.CounterOpts{
			Name: "trellis_coordinator_gpu_trial_loss_seconds_total",
			Help: "Time of a GPU that trials of two jobs at the same time cost the one that lost more, at most.",
		}),
		Decision: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "trellis_coordinator_decision_seconds",
			Help:    "Time to observe the node's jobs and divide its CPU among them.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 8),
		}),
		jobs: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "trellis_coordinator_jobs",
			Help: "Running jobs of this node, by category.",
		}, []string{"category"}),
	}
}

// Jobs sets the number of jobs in each category.
func (m *Metrics) Jobs(count map[growth.Category]int) {
	for _, c := range []growth.Category{growth.Progressing, growth.Watching, growth.Converged} {
		m.jobs.WithLabelValues(string(c)).Set(float64(count[c]))
	}
}
