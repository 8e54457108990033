// Command deviceplugin offers the memory of a node's GPUs to kubelet as devices. It runs as a DaemonSet on nodes with
// the label gpushare=true.
//
// A device id is "<GPU uuid>/<n>" and stands for one unit of memory on that GPU, 1 GiB by default. The ids of an
// allocation determine its GPUs, so kubelet's accounting of ids is the lock: no GPU memory is allocated twice. Allocate
// depends on the ids alone. Kubelet's PodResources API names the pod that holds them, before its container starts.
//
// The path of an allocation, from top to bottom:
//
//	kubelet            ListAndWatch, GetPreferredAllocation, Allocate, PreStartContainer
//	   │ gRPC
//	plugin             registration with kubelet, and kubelet's calls
//	   │ demands, ids in use, Observe
//	allocations        which pod requests units, and which pod holds which ids
//	   │                  inputs: kubelet (PodResources), pods (API server), bus (records), slot (disk)
//	slice              pure: device ids, and the choice among them
//	   │
//	bus                nodes/<node>/allocations/<pod uid>, nodes/<node>/gpus
//
// The path of a GPU:
//
//	gpu/nvml ──> gpu.Inventory ──> plugin (ListAndWatch), bus, node (labels), cdi (specification)
//	                 ^
//	                 └── health checks: gpuhealth (XID errors, failing driver), node (cordon), mps (daemons)
//
// In addition, usage compares the memory that pods use with their requests. Package slot creates the directories
// through which a container and the coordinator communicate. Package gpucount advertises the number of GPUs as a
// resource of its own. Package apiserver is a small client of the Kubernetes API.
//
// Package kubelet/contract tests the kubelet behaviour that the plugin depends on, against a fake and the real kubelet.
package main
