// Package controlplanetest runs a stock control plane for tests and benchmarks: etcd, kube-apiserver and kube-scheduler,
// on free ports of the loopback address. There are no kubelets and no controllers: node objects with capacity are enough
// for the scheduler.
//
// The programs lie in the folder that the environment variable TRELLIS_STOCK_DIR names; `bin/local build` builds them.
package controlplanetest
