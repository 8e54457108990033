// Package cluster is the client of the Kubernetes cluster that a benchmark runs on. It reads whether Trellis is installed,
// the tuner's state (through the API server's service proxy, with the caller's credentials), pods and events.
//
// Local brings up a cluster on this machine with the program bin/local, and takes it down.
package cluster
