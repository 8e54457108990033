// Package e2e holds the real kubelet to package contract, on a local cluster of one node without Trellis:
//
//	go test -tags e2e -timeout 10m ./e2e
//
// It needs root, and brings a cluster of a random name up and down. TRELLIS_STOCK_DIR names a folder of ready stock
// programs, which are built otherwise (once, 15 minutes).
package e2e
