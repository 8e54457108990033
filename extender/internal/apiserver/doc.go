// Package apiserver is the API server as the extender uses it: a client with explicit rates, informers that keep only what
// is read, and the two calls of a Bind.
package apiserver
