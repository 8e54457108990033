// Package nvml asks NVIDIA's driver for the GPUs, through go-nvml. It is the one package that knows NVML.
//
// go-nvml loads libnvidia-ml.so.1 at run time, which takes cgo. A static build (CGO_ENABLED=0) has no NVML: Open then
// says so, and emulated GPUs are all it offers. An image for real GPUs is built with cgo, on glibc.
package nvml
