package node

import "github.com/trellis-gpu/trellis/growth"

// Usage is what a pod uses, as its cgroup counts it. What could not be read is zero.
type Usage struct {
	// CPU is the time consumed since the pod was created, in core seconds.
	CPU      growth.Seconds
	CPUKnown bool
	// Memory is resident memory, without the page cache that the kernel can drop.
	Memory growth.MiB
	// Weight is cpu.shares or cpu.weight.
	Weight int64
	// BlockIO was read from and written to disks, NetworkIO received and sent, since the pod was created, in bytes.
	BlockIO, NetworkIO int64
	// Stalled is how long some process of the pod has waited for a resource.
	Stalled Stalled
	// Queued is how long the pod has been ready to run while others ran.
	Queued      growth.Seconds
	QueuedKnown bool
}

// Stalled is the time in which some process waited for a resource, as the kernel's PSI counts it.
type Stalled struct{ CPU, Memory, IO growth.Seconds }
