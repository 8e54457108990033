// Package metrics defines the coordinator's Prometheus metrics: counters of what it does, and the resource usage and
// the GPU time of each running job.
package metrics
