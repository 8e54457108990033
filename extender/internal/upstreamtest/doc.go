// Package upstreamtest gives the extender's tests an upstream control plane, with the objects that they need: nodes that
// offer a resource, and priority classes.
package upstreamtest
