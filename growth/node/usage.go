package node

import "github.com/trellis-gpu/trellis/growth"

// Usage is the resource usage of a pod, as counted by its cgroup. Fields that could not be read are zero.
type Usage struct {
	// CPU is the CPU time consumed since the pod was created, in core-seconds.
	CPU      growth.Seconds
	CPUKnown bool
	// Memory is the memory in use, without inactive page cache.
	Memory growth.MiB
	// Weight is cpu.shares or cpu.weight.
	Weight int64
	// BlockIO is the bytes read from and written to block devices, NetworkIO the bytes received and sent, since the pod
	// was created.
	BlockIO, NetworkIO int64
	// Stalled is the time in which some task of the pod waited for a resource.
	Stalled Stalled
	// Queued is the time that the pod was runnable without running.
	Queued      growth.Seconds
	QueuedKnown bool
}

// Stalled is the time in which some task waited for a resource, as counted by the kernel's PSI.
type Stalled struct{ CPU, Memory, IO growth.Seconds }
