// Package nvml asks NVIDIA's driver for the GPUs, through go-nvml. It is the one package that knows NVML.
//
//	Devices    GPUs, and in their place the MIG instances of those that are cut: memory, model, UUID, NUMA node, NVLink
//	Faults     XID errors and double-bit ECC errors, from an NVML event set
//	Processes  who computes on which device, with what memory and how busy
//
// Nothing here decides: a value that a GPU does not tell is left out, and what an error number means is package gpuhealth's.
// Calls have no deadline of their own; gpu.Patient gives the caller one.
//
// go-nvml loads libnvidia-ml.so.1 at run time, which takes cgo. A static build (CGO_ENABLED=0) has no NVML: Open then
// says so, and emulated GPUs are all it offers. An image for real GPUs is built with cgo, on glibc.
package nvml
