// Package metrics names what the coordinator counts.
package metrics
