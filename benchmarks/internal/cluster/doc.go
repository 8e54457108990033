// Package cluster is the Kubernetes that a benchmark runs on, seen through its API server alone: is Trellis installed
// there, what does the tuner know (its API, through the API server's service proxy, with the caller's own credentials),
// what do the pods and their events say.
//
// Local brings up a cluster of this machine's own with the program beside this one, bin/local, and takes it down again.
package cluster
