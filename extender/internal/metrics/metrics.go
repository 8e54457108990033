package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/growth/move"
)

// View returns the current snapshot of the cluster.
type View interface{ Snapshot() *cache.Snapshot }

// Metrics are the extender's metrics. They implement webhook.Observer.
type Metrics struct {
	Registry *prometheus.Registry

	latency   *prometheus.HistogramVec
	binds     *prometheus.CounterVec
	conflicts prometheus.Counter
	waits     prometheus.Histogram
	repairs   *prometheus.CounterVec
	failures  *prometheus.CounterVec
	refusals  prometheus.Counter
	moves     *prometheus.HistogramVec
	gangs     *prometheus.CounterVec
}

// Assumed counts the reservations that wait in memory for the bus.
type Assumed interface{ PendingCount() int }

// New registers all metrics. The lists are label values: outcomes of binds, kinds of corrected drift, and kinds of
// allocations that differ from the plan. Their counters start at 0.
func New(v View, assumed Assumed, outcomes, drifts, failures []string) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "trellis_extender_request_duration_seconds",
			Help:    "Time to answer the scheduler, by verb.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 17), // 0.1 ms to 6.6 s
		}, []string{"verb"}),
		binds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_extender_binds_total",
			Help: "Binds, by result.",
		}, []string{"result"}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trellis_extender_reservation_conflicts_total",
			Help: "Reservations that were not written because another replica reserved first.",
		}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "trellis_extender_api_wait_seconds",
			Help:    "Time that calls to the API server waited under --kube-qps and --kube-burst.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8), // 1 ms to 16 s
		}),
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_extender_drift_repaired_total",
			Help: "Plans that were corrected to match kubelet and the API server.",
		}, []string{"kind"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_extender_match_failures_total",
			Help: "Allocations that differ from the plan: elsewhere, on another GPU than in the reservation or Binding; " +
				"unknown, of no pod of the node. Every replica counts all of them.",
		}, []string{"kind"}),
		refusals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trellis_extender_unbalanced_total",
			Help: "Reservations refused because 0 <= used <= total would not have held. Must be 0.",
		}),
		moves: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "trellis_extender_move_duration_seconds",
			Help:    "Time from the start of a move to its end, by outcome: Done or Aborted.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10), // 1 s to 9 min
		}, []string{"outcome"}),
	}
	m.gangs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "trellis_extender_gangs_total",
		Help: "Jobs of several pods that were placed as a whole, and those that released a part of their room, by outcome.",
	}, []string{"outcome"})
	for _, outcome := range []string{"placed", "released"} {
		m.gangs.WithLabelValues(outcome)
	}
	for _, outcome := range outcomes {
		m.binds.WithLabelValues(outcome)
	}
	for _, kind := range drifts {
		m.repairs.WithLabelValues(kind)
	}
	for _, kind := range failures {
		m.failures.WithLabelValues(kind)
	}
	pending := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "trellis_extender_held_reservations",
		Help: "Reservations in memory that wait for the bus.",
	}, func() float64 { return float64(assumed.PendingCount()) })
	m.Registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.latency,
		m.binds,
		m.conflicts,
		m.waits,
		m.repairs,
		m.failures,
		m.refusals,
		m.moves,
		m.gangs,
		pending,
	)
	m.Registry.MustRegister(snapshotGauges(v)...)
	return m
}

// snapshotGauges returns the gauges that are computed from the snapshot.
func snapshotGauges(v View) []prometheus.Collector {
	gauge := func(name, help string, read func(*cache.Snapshot) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "trellis_extender_" + name, Help: help},
			func() float64 { return read(v.Snapshot()) })
	}
	return []prometheus.Collector{
		gauge("bus_up", "1 while the state bus is connected.", func(s *cache.Snapshot) float64 {
			if s.Unavailable != nil || !s.Synced {
				return 0
			}
			return 1
		}),
		gauge("snapshot_age_seconds", "Time since the bus became unavailable; 0 while it is connected.", unavailableSeconds),
		gauge("overcommitted_bytes", "GPU memory held beyond the capacity of GPUs. Must be 0.", func(s *cache.Snapshot) float64 {
			return float64(s.OverCommitted()) * (1 << 20)
		}),
		gauge("refused_records", "Records on the bus that this version cannot read.", func(s *cache.Snapshot) float64 {
			return float64(s.Refused)
		}),
		gauge("model_observations", "Observations that the learned model in use is based on; 0 while the prior is used.",
			func(s *cache.Snapshot) float64 {
				if s.Learned == nil {
					return 0
				}
				return float64(s.Learned.Observations)
			}),
		gauge("model_age_seconds", "Time since the learned model in use arrived; 0 while the prior is used.", modelSeconds),
		gauge("reservations", "Reservations that wait for kubelet.", func(s *cache.Snapshot) float64 {
			waiting := 0
			for _, n := range s.Nodes.All() {
				waiting += len(n.Reservations)
			}
			return float64(waiting)
		}),
		gauge("drift", "Differences between plans and kubelet or the API server that are not corrected yet.", driftCount),
	}
}

func unavailableSeconds(s *cache.Snapshot) float64 {
	if s.Unavailable == nil {
		return 0
	}
	return time.Since(s.Since).Seconds()
}

func modelSeconds(s *cache.Snapshot) float64 {
	if s.Learned == nil {
		return 0
	}
	return time.Since(s.Learned.Since).Seconds()
}

func driftCount(s *cache.Snapshot) float64 {
	n := 0
	for _, node := range s.Nodes.All() {
		n += len(node.Drift.Misplaced) + len(node.Drift.Unreserved) + len(node.Drift.OverCommitted)
	}
	return float64(n)
}

// Answered observes how long a request took.
func (m *Metrics) Answered(verb string, took time.Duration) {
	m.latency.WithLabelValues(verb).Observe(took.Seconds())
}

// Bound counts a bind.
func (m *Metrics) Bound(outcome string) { m.binds.WithLabelValues(outcome).Inc() }

// Moved observes how long a move took.
func (m *Metrics) Moved(outcome move.State, took time.Duration) {
	m.moves.WithLabelValues(string(outcome)).Observe(took.Seconds())
}

// GangEnded counts a job of several pods that was placed, or that released its room.
func (m *Metrics) GangEnded(outcome string) { m.gangs.WithLabelValues(outcome).Inc() }

// GangsWaiting registers the number of jobs that wait to be placed as a whole.
func (m *Metrics) GangsWaiting(count func() int) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "trellis_extender_gangs_waiting",
		Help: "Jobs of several pods that wait until all of their pods have room, and those with a pod that is not bound yet.",
	}, func() float64 { return float64(count()) }))
}

// Repaired counts a corrected plan.
func (m *Metrics) Repaired(kind string) { m.repairs.WithLabelValues(kind).Inc() }

// Mismatched counts an allocation that differs from the plan.
func (m *Metrics) Mismatched(kind string) { m.failures.WithLabelValues(kind).Inc() }

// Unbalanced counts a reservation that would have over-committed a GPU.
func (m *Metrics) Unbalanced() { m.refusals.Inc() }

// Conflicted counts a reservation that lost against another replica's.
func (m *Metrics) Conflicted() { m.conflicts.Inc() }

// Waited observes the time that a call to the API server waited for the rate limiter.
func (m *Metrics) Waited(waited time.Duration) { m.waits.Observe(waited.Seconds()) }
