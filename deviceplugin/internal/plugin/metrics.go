package plugin

import "github.com/prometheus/client_golang/prometheus"

// Metrics of the conversation with kubelet.
type Metrics struct {
	Allocate      prometheus.Histogram
	PreStart      prometheus.Histogram
	Refused       prometheus.Counter
	OfferedTwice  prometheus.Counter
	Registrations prometheus.Counter
	Registered    prometheus.Gauge
}

// NewMetrics registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	buckets := prometheus.ExponentialBuckets(0.0005, 2, 14) // 0.5 ms to 4 s
	m := &Metrics{
		Allocate: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "trellis_deviceplugin_allocate_seconds", Help: "Time to answer kubelet's Allocate.", Buckets: buckets,
		}),
		PreStart: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "trellis_deviceplugin_prestart_seconds",
			Help:    "Time to answer kubelet's PreStartContainer.",
			Buckets: buckets,
		}),
		Refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trellis_deviceplugin_allocations_refused_total",
			Help: "Allocations that were refused, each with a pod that failed.",
		}),
		OfferedTwice: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trellis_deviceplugin_units_offered_twice_total",
			Help: "Units that kubelet would have given away though a container holds them; they were not.",
		}),
		Registrations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trellis_deviceplugin_registrations_total",
			Help: "Registrations with kubelet; all but the first follow a restart of kubelet.",
		}),
		Registered: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_deviceplugin_registered", Help: "1 while kubelet knows this plugin.",
		}),
	}
	registry.MustRegister(m.Allocate, m.PreStart, m.Refused, m.OfferedTwice, m.Registrations, m.Registered)
	return m
}
