// Command deviceplugin turns the memory of a node's GPUs into devices that kubelet hands out.
//
// It runs as a DaemonSet on nodes labelled gpushare=true, and is four things at once, each in a package:
//
//	internal/gpu      the inventory: NVML, or GPUs that are emulated and say so
//	internal/plugin   kubelet's questions: registration, ListAndWatch, preferred ids, Allocate, PreStartContainer
//	internal/allocations  the books: kubelet's PodResources compared with the state bus and the slots on disk
//	internal/slice    the pure part: device ids, and the choice among them
//
// What it relies on in kubelet is written down as tests: internal/kubelet/contract.
//
// An id names its GPU, and kubelet's own accounting of ids is the lock: no GPU memory is handed out twice, whatever
// races. Allocate needs nothing but the ids. Whose they are is learned before the container starts, from kubelet.
package main
