// Package probes says when the tuner is ready.
package probes
