// Package podevents writes events on pods, as the extender: what users see in `kubectl describe pod`. An event that cannot be
// written is logged, and nothing else depends on it.
package podevents
