// Package apiserver is the extender's client of the API server: explicit rate limits, informers that keep only what is read,
// and the two calls of Bind.
package apiserver
