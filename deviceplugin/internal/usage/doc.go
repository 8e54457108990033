// Package usage tells what each pod really uses of the GPUs it shares, and says so when that is more than it asked for.
//
//	driver's processes (PID, GPU, memory, busy) ─┐
//	/proc/<PID>/cgroup → pod UID ────────────────┼→ Use per pod and GPU → metrics
//	allocations → what it asked for ─────────────┘        └→ over its request? an event, then what the policy says
//
// Memory that a framework took beyond the request is a fact on the GPU that only its own processes can undo, so the
// policy warns first: an event on the pod once it was over for a while, again only after a long time, and with
// --on-excess=evict an eviction when it stays over. A PodDisruptionBudget may hold that up. Every CUDA context costs
// some hundred MiB that no job asked for: Config.Slack is granted on top.
//
// Judge is pure. PIDs are the host's: the plugin reads the host's /proc, mounted into its container.
package usage
