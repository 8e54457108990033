package allocations

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of a Tracker.
type Metrics struct {
	Pending   prometheus.Gauge
	Drift     prometheus.Gauge
	Corrected *prometheus.CounterVec
	BusUp     prometheus.Gauge
	Forgotten prometheus.Gauge
}

// NewMetrics creates the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		Pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_deviceplugin_identities_pending",
			Help: "Pods that hold devices and have no allocation record yet.",
		}),
		Drift: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_deviceplugin_drift",
			Help: "Allocation records that differed from kubelet at the last reconciliation.",
		}),
		Corrected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trellis_deviceplugin_corrections_total",
			Help: "Corrections after kubelet: allocation records written or deleted, slots removed.",
		}, []string{"kind"}),
		BusUp: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_deviceplugin_bus_up",
			Help: "1 while the state bus is connected, 0 while the last snapshot is used.",
		}),
		Forgotten: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trellis_deviceplugin_units_forgotten",
			Help: "Units of running containers that kubelet has forgotten with its checkpoint; no other pod gets them.",
		}),
	}
	registry.MustRegister(m.Pending, m.Drift, m.Corrected, m.BusUp, m.Forgotten)
	return m
}
