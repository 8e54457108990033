// Package telemetry is what operators see of the extender: Prometheus metrics, and the probes /livez and /readyz.
package telemetry
