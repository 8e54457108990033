// Package metrics defines the tuner's Prometheus metrics. Gauges of the bus are computed from the last
// Snapshot at each scrape; package advise updates the counters and the histogram. Times are in seconds.
package metrics
