// Package gpu keeps the inventory of a node: its GPUs, their memory and their health.
//
//	Source ──list──> Inventory ──Devices──> kubelet, bus, node labels, CDI
//	                     ^
//	HealthCheck ─────────┘  overrides the driver's view: gpuhealth, cordon, MPS
//
// There are two sources. Package nvml queries the driver. Emulated provides GPUs without hardware; it must be
// selected explicitly (--gpus=emulated:2x24GiB). Emulated GPUs are marked everywhere: their UUIDs start with EMU-,
// and the bus record, logs, metrics and the containers' environment say so.
//
// Invariant: an Inventory never drops a GPU. If a source fails or a GPU cannot be read, the last list stays, and the
// GPU is unhealthy. Kubelet would fail the pods of a node that advertises nothing.
package gpu
