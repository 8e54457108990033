package node

import "github.com/trellis-gpu/trellis/growth"

// Usage is a reading of the counters of a pod's cgroup. Values that could not be read are zero.
type Usage struct {
	// CPU is the time consumed since the pod was created, in core-seconds.
	CPU      growth.Seconds
	CPUKnown bool
	// Memory is the resident memory without reclaimable page cache.
	Memory growth.MiB
	// SharedMemory is the shared memory in use.
	SharedMemory      growth.MiB
	SharedMemoryKnown bool
	// Weight is the CPU weight: cpu.weight, or cpu.shares with cgroup v1.
	Weight int64
	// BlockIO counts bytes read from and written to disks, NetworkIO bytes received and sent, since the pod was
	// created.
	BlockIO, NetworkIO int64
	// Stalled is the time in which some process of the pod waited for a resource.
	Stalled Stalled
	// Queued is the time in which the pod was ready to run but waited for a CPU.
	Queued      growth.Seconds
	QueuedKnown bool
}

// Stalled has the totals of the kernel's pressure stall information (PSI, "some").
type Stalled struct{ CPU, Memory, IO growth.Seconds }
