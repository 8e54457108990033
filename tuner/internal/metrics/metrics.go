package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// Metrics are the tuner's metrics. Use New.
type Metrics struct {
	Registry       *prometheus.Registry
	changes        *prometheus.CounterVec
	allocationTime prometheus.Histogram
	leader         prometheus.Gauge
	measurements   *prometheus.CounterVec
	modelWrites    *prometheus.CounterVec
	runs           *prometheus.CounterVec
	programWrites  *prometheus.CounterVec
}

// Source provides snapshots of the bus.
type Source interface {
	Snapshot() (*history.Snapshot, <-chan struct{})
}

// New returns metrics with their own registry. Gauges of the bus's state are read from source at each scrape.
func New(source Source, version string) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_tuner_advice_total", Help: "Changes of advice, by result.",
		}, []string{"action"}),
		allocationTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "trellis_tuner_allocation_duration_seconds",
			Help:    "Duration of one round of decisions: fitting all models and dividing the cores of all nodes.",
			Buckets: prometheus.ExponentialBuckets(1e-5, 4, 9),
		}),
		measurements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_tuner_interference_measurements_total",
			Help: "Measured speeds of sets of jobs that share a GPU, by result: learned or invalid.",
		}, []string{"result"}),
		modelWrites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_tuner_interference_writes_total", Help: "Writes of models/interference, by result.",
		}, []string{"result"}),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_tuner_program_runs_total",
			Help: "Runs of programs that coordinators have published, by result: merged into the cluster's history or refused.",
		}, []string{"result"}),
		programWrites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_tuner_program_writes_total", Help: "Writes of models/programs, by result.",
		}, []string{"result"}),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_tuner_leader", Help: "1 while this process is the leader, else 0. Only the leader gives advice.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "trellis_tuner_build_info",
		Help:        "1, with the build's version as a label.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.Registry.MustRegister(m.changes, m.allocationTime, m.leader, m.measurements, m.modelWrites, m.runs,
		m.programWrites, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newGaugeFunc(source, "jobs", "Jobs that have a sample on the bus.", countJobs),
		newGaugeFunc(source, "measured_jobs", "Jobs with at least one throughput measurement.", countMeasuredJobs),
		newGaugeFunc(source, "nodes", "Nodes on the bus.",
			func(s *history.Snapshot) float64 { return float64(len(s.Nodes)) }),
		newGaugeFunc(source, "interference_pairs", "Pairs and larger sets of kinds of jobs in models/interference.", countPairs),
		newGaugeFunc(source, "refused_records", "Records on the bus that this build cannot decode.",
			func(s *history.Snapshot) float64 { return float64(len(s.Undecodable)) }),
		newGaugeFunc(source, "bus_away_seconds", "How long the bus has been unavailable; 0 while it is connected.",
			unavailableSeconds),
	)
	return m
}

func newGaugeFunc(source Source, name, help string, value func(*history.Snapshot) float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "trellis_tuner_" + name, Help: help}, func() float64 {
		snapshot, _ := source.Snapshot()
		return value(snapshot)
	})
}

func countJobs(s *history.Snapshot) (n float64) {
	for _, j := range s.Jobs {
		if j.Sample != nil {
			n++
		}
	}
	return n
}

func countMeasuredJobs(s *history.Snapshot) (n float64) {
	for _, j := range s.Jobs {
		if len(j.Measurements) > 0 {
			n++
		}
	}
	return n
}

func countPairs(s *history.Snapshot) float64 {
	if s.Interference == nil {
		return 0
	}
	return float64(len(s.Interference.Learned.Pairs))
}

func unavailableSeconds(s *history.Snapshot) float64 {
	if s.UnavailableSince.IsZero() {
		return 0
	}
	return time.Since(s.UnavailableSince).Seconds()
}

// ObserveAllocation records the duration of one round of decisions.
func (m *Metrics) ObserveAllocation(duration time.Duration) {
	m.allocationTime.Observe(duration.Seconds())
}

// CountChange counts one change of advice by its result.
func (m *Metrics) CountChange(action string) { m.changes.WithLabelValues(action).Inc() }

// CountMeasurements counts measurements by their result.
func (m *Metrics) CountMeasurements(result string, n int) {
	m.measurements.WithLabelValues(result).Add(float64(n))
}

// CountModelWrite counts one write of the model of interference by its result.
func (m *Metrics) CountModelWrite(result string) { m.modelWrites.WithLabelValues(result).Inc() }

// CountRuns counts runs of programs by their result.
func (m *Metrics) CountRuns(result string, n int) { m.runs.WithLabelValues(result).Add(float64(n)) }

// CountProgramWrite counts one write of the model of a program by its result.
func (m *Metrics) CountProgramWrite(result string) { m.programWrites.WithLabelValues(result).Inc() }

// Programs adds gauges of the history of programs. size returns the number of programs and of bytes on the bus.
func (m *Metrics) Programs(size func() (count, bytes int)) {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "trellis_tuner_" + name, Help: help}, func() float64 { return float64(value()) })
	}
	m.Registry.MustRegister(
		gauge("programs", "Programs in the cluster's history.", func() int { count, _ := size(); return count }),
		gauge("programs_bytes", "Size of the cluster's history of programs on the bus.", func() int { _, bytes := size(); return bytes }),
	)
}

// Leading records whether this process is the leader.
func (m *Metrics) Leading(leading bool) {
	m.leader.Set(0)
	if leading {
		m.leader.Set(1)
	}
}
