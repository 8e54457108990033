package allocations

import "github.com/prometheus/client_golang/prometheus"

// Metrics of the books.
type Metrics struct {
	Pending   prometheus.Gauge
	Drift     prometheus.Gauge
	Corrected *prometheus.CounterVec
	BusUp     prometheus.Gauge
}

// NewMetrics registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		Pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_deviceplugin_identities_pending",
			Help: "Pods that hold devices and are not written down yet.",
		}),
		Drift: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_deviceplugin_drift",
			Help: "Allocations in which the bus differed from kubelet when they were last compared.",
		}),
		Corrected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_deviceplugin_corrections_total",
			Help: "What was brought in line with kubelet: allocations written or forgotten, slots removed.",
		}, []string{"kind"}),
		BusUp: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_deviceplugin_bus_up",
			Help: "1 while the state bus can be reached, 0 while the last snapshot is used.",
		}),
	}
	registry.MustRegister(m.Pending, m.Drift, m.Corrected, m.BusUp)
	return m
}
