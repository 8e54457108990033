// Package e2e is the one true path through all of Trellis, on a real cluster on this machine, as root:
//
//	go test -tags e2e -timeout 20m ./e2e
//
// It brings up a cluster of a random name, installs Trellis from source with the production manifests, and runs real
// training jobs. While they run it looks for every link of the chain (annotation, limit, binding, allocation, socket and
// shim in the container, resize in the cgroup, category, loaders acknowledged), does what users and machines do wrong
// (annotations that are nonsense, a pod that no GPU can hold, a job that floods its socket), and kills each of the four
// binaries. Every job must finish all the same, and nothing may be left of the cluster.
//
// TRELLIS_STOCK_DIR names a folder of ready stock programs, which are built otherwise (once, 15 minutes).
package e2e
