// Package e2e runs package contract against the real kubelet, on a local cluster with one node and without Trellis, and
// the device plugin alone on a kubelet that loses its checkpoint, and on one with the static CPU Manager and each policy of the
// Topology Manager:
//
//	go test -tags e2e -timeout 10m ./e2e
//
// It needs root, and creates and deletes a cluster with a random name. TRELLIS_STOCK_DIR is a directory with built
// upstream programs; without it they are built once, which takes 15 minutes.
package e2e
