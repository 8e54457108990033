package plugin

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of kubelet's calls.
type Metrics struct {
	Allocate      prometheus.Histogram
	PreStart      prometheus.Histogram
	Rejected      prometheus.Counter
	OfferedTwice  prometheus.Counter
	Registrations prometheus.Counter
	Registered    prometheus.Gauge
}

// NewMetrics creates the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	buckets := prometheus.ExponentialBuckets(0.0005, 2, 14) // 0.5 ms to 4 s
	m := &Metrics{
		Allocate: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "trellis_deviceplugin_allocate_seconds", Help: "Duration of Allocate calls.", Buckets: buckets,
		}),
		PreStart: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "trellis_deviceplugin_prestart_seconds",
			Help:    "Duration of PreStartContainer calls.",
			Buckets: buckets,
		}),
		Rejected: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trellis_deviceplugin_allocations_refused_total",
			Help: "Allocate calls that were rejected; each fails a pod.",
		}),
		OfferedTwice: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trellis_deviceplugin_units_offered_twice_total",
			Help: "Units that kubelet offered although a container holds them; they were not allocated again.",
		}),
		Registrations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trellis_deviceplugin_registrations_total",
			Help: "Registrations with kubelet; all but the first follow a restart of kubelet.",
		}),
		Registered: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_deviceplugin_registered", Help: "1 while this plugin is registered with kubelet.",
		}),
	}
	registry.MustRegister(m.Allocate, m.PreStart, m.Rejected, m.OfferedTwice, m.Registrations, m.Registered)
	return m
}
