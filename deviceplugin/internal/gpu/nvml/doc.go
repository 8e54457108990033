// Package nvml reads GPUs from NVIDIA's driver through go-nvml. No other package uses NVML.
//
//	Devices    GPUs, or their MIG instances: memory, model, UUID, NUMA node, NVLinks
//	Faults     XID errors and double-bit ECC errors, from an NVML event set
//	Processes  processes per device, with memory and utilization
//
// This package makes no decisions: unknown values stay unset, and package gpuhealth interprets error numbers. Calls
// have no deadline; gpu.TimeoutSource adds one.
//
// go-nvml loads libnvidia-ml.so.1 at run time and needs cgo. In a static build (CGO_ENABLED=0) Open returns an error,
// and only emulated GPUs are available. Build images for real GPUs with cgo, on glibc.
package nvml
