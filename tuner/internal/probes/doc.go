// Package probes defines the tuner's readiness from the last snapshot of the bus.
//
//	never read                   not ready
//	read, bus available          ready
//	read, bus unavailable        ready and degraded
package probes
