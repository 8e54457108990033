// Package probes defines the extender's readiness from the current snapshot.
//
//	never read                   not ready
//	read, bus available          ready
//	read, bus unavailable        ready and degraded
package probes
