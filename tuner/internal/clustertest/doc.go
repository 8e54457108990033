// Package clustertest invents the records of a large cluster, for tests and benchmarks of what the tuner costs.
package clustertest
