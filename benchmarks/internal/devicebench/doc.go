// Package devicebench measures the device plugin as kubelet meets it: the real binary, in a process of its own, between a
// kubelet that this package plays, an API server that it plays too, and a real etcd.
//
//	fill   200 pods are admitted one after another, as kubelet does: preferred ids, Allocate, PreStartContainer
//	churn  with 200 pods running, one after another is replaced by a new one that the API server has just told of, and as
//	       many containers are started again
//
// Latencies are those that kubelet sees, over the socket, of the churn alone. Memory is the process's resident set after
// it. The node is the largest there is: 8 emulated GPUs of 141 GiB in units of 1 GiB. What it flatters: everything is
// on one machine, and nothing else asks the kubelet, the API server and etcd.
package devicebench
