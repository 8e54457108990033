// Package probes answers /livez and /readyz for the extender.
package probes
