// Package metrics is what the tuner tells Prometheus. Times are in seconds.
package metrics
