// Package probes implements the coordinator's readiness check.
//
// A coordinator is alive while its loop makes progress, and ready once it has listed the pods of its node. It stays
// alive and ready while the bus is unavailable: the loop continues with the last snapshot, and /readyz and a metric
// report for how long.
package probes
