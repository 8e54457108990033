// Package gpucount advertises the number of a node's GPUs to kubelet, as the resource <domain>/gpu-count.
//
// Aliyun's `kubectl inspect gpushare` reads aliyun.com/gpu-count from the node's allocatable resources. Without it, the
// summary of that tool shows no GPU. Aliyun's device plugin patches the node's status. This package registers a second
// device plugin instead, which needs no right on nodes, and whose capacity disappears with it.
//
//	Inventory ──GPUs──> Plugin ──ListAndWatch──> kubelet ──> the node's capacity and allocatable
//
// Every GPU counts, unhealthy ones included: the tool numbers GPUs from 0 in the driver's order. The resource gives
// nothing: Allocate rejects every request, and names the resource that a pod needs.
package gpucount
