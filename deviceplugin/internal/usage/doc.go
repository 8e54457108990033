// Package usage measures the GPU memory and utilization of each pod, and reports pods that exceed their request.
//
//	driver's processes (PID, GPU, memory, busy) ─┐
//	/proc/<PID>/cgroup ──> pod UID ──────────────┼─> Use per pod and GPU ──> metrics
//	allocations ──> requested memory ────────────┘        └─> ExcessDetector ──> warning event, eviction
//
// Only a process itself can free memory that it allocated beyond the request. The policy is therefore to warn first:
// an event on the pod after WarnAfter, repeated at most every WarnInterval. With --on-excess=evict an eviction
// follows after EvictAfter; a PodDisruptionBudget can delay it. Config.Slack allows for CUDA contexts, which take
// some hundred MiB each.
//
// Recorder measures more often how long the kernels of each pod run. It writes the totals, and the memory of each pod as last
// measured, to a file for the coordinator (see growth/gpuuse).
//
// ExcessDetector is pure. PIDs are those of the host, whose /proc is mounted into the plugin's container.
package usage
