// Package probes serves /livez (also as /healthz), /readyz and /metrics.
//
// Alive is a loop that goes round. Ready is a coordinator that has seen its node's pods once. A bus that is away makes
// neither false: the loop goes on with what it knows, and /readyz and a metric say since when.
package probes
