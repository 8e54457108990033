// Package metrics defines the extender's Prometheus metrics. Gauges of the cluster are computed from the current snapshot
// at each scrape. The other packages call methods of Metrics to count what they do.
package metrics
