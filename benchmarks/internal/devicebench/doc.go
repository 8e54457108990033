// Package devicebench measures the device plugin from kubelet's side: the real binary, in its own process, with a fake
// kubelet, a fake API server and a real etcd.
//
//	fill   kubelet admits 200 pods one after another: preferred IDs, Allocate, PreStartContainer
//	churn  with 200 pods running, each in turn is replaced by a new pod that the API server has just announced, and as many
//	       containers are restarted
//
// Latencies are those of kubelet's calls over the socket, without the fake's own work, during the churn only. Memory is
// the process's resident set afterwards. The node is the largest one: 8 emulated GPUs of 141 GiB in units of 1 GiB. The
// figures benefit from one machine without other load.
package devicebench
