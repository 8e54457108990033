// Package probes says when a coordinator is ready.
//
// A coordinator is alive while its loop answers, and ready once it has listed its node's pods. Without the bus it stays
// both: the loop continues with its last snapshot, and /readyz and a metric say for how long.
package probes
