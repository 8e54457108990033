// Package metrics counts what the extender does, for Prometheus.
package metrics
