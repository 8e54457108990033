// Package upstreamtest runs a stock control plane for the extender's tests (package controlplanetest), and creates nodes
// and priority classes in it.
package upstreamtest
