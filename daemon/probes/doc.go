// Package probes answers the liveness probe (/livez, also /healthz), the readiness probe (/readyz) and the metrics
// scrape (/metrics) of a process.
//
// A process without the bus is degraded, not unready: it continues with its last snapshot, and a restart or the removal
// from a Service would not help. /readyz then answers 200 and lists what is degraded. Readiness fails when the process
// begins to stop, before any of its ports closes.
package probes
