// Package metrics defines the tuner's Prometheus metrics. Times are in seconds.
package metrics
