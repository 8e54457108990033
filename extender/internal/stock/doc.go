// Package stock runs a stock control plane for tests: etcd, kube-apiserver and kube-scheduler, from binaries in the folder
// that the environment variable TRELLIS_STOCK_DIR names, on free ports of the loopback address. There are no kubelets:
// node objects with capacity are enough for the scheduler.
package stock
