// Package controlplanetest runs a stock control plane for tests and benchmarks: etcd, kube-apiserver and kube-scheduler,
// on free ports of the loopback address. There are no kubelets: node objects with capacity are enough for the scheduler. A
// test starts the controllers that it needs.
//
// The environment variable TRELLIS_STOCK_DIR is the folder of the programs. `bin/local build` builds them.
package controlplanetest
