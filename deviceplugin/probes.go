package main

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// ready is the readiness check: the device plugin is ready once it is registered with kubelet, which can then allocate
// devices.
func (p *parts) ready() (degraded []string, err error) {
	if !p.registrar.Registered() {
		return nil, errors.New("not registered with kubelet")
	}
	if err := p.allocations.BusErr(); err != nil {
		degraded = append(degraded, fmt.Sprintf("the bus is unavailable, allocations wait: %v", err))
	}
	if _, known := p.pods.Pods(); !known {
		degraded = append(degraded, "the API server has not listed this node's pods yet")
	}
	if err := p.slots.LabelErr(); err != nil {
		degraded = append(degraded, fmt.Sprintf("jobs cannot reach their sockets: %v", err))
	}
	if p.inventory.Failing() {
		degraded = append(degraded, "the GPUs could not be listed, the last list stays")
	}
	return degraded, nil
}

// gpuCollector counts the GPUs by health at each scrape.
type gpuCollector struct{ inventory *inventory }

var gpusDesc = prometheus.NewDesc("trellis_deviceplugin_gpus", "GPUs of this node.", []string{"health", "emulated"}, nil)

// Describe implements prometheus.Collector.
func (gpuCollector) Describe(descs chan<- *prometheus.Desc) { descs <- gpusDesc }

// Collect implements prometheus.Collector.
func (g gpuCollector) Collect(metrics chan<- prometheus.Metric) {
	devices, _ := g.inventory.Devices()
	healthy := 0
	for _, d := range devices {
		if d.Healthy {
			healthy++
		}
	}
	emulated := fmt.Sprint(g.inventory.emulated)
	metrics <- prometheus.MustNewConstMetric(gpusDesc, prometheus.GaugeValue, float64(healthy), "healthy", emulated)
	metrics <- prometheus.MustNewConstMetric(gpusDesc, prometheus.GaugeValue, float64(len(devices)-healthy), "unhealthy", emulated)
}
