// Package mps keeps one MPS control daemon per GPU alive (--sharing=mps), NVIDIA's Multi-Process Service: the processes of
// several containers then run on the GPU at once, each within a pinned limit of device memory and a percentage of the
// GPU's threads that the driver enforces.
//
// What it does not isolate: the clients of one GPU share one server. A fatal fault of one ends all of them, they share
// /dev/shm, and one that replaces the CUDA libraries in its image escapes its limits. See the README's threat model.
//
// A Daemon is one process in the foreground with folders of its own. When it dies, every CUDA context on its GPU is lost:
// the jobs get errors from their next call on and must be started again, which their controllers do. The daemon is
// started anew, waiting longer each time, and until it answers its GPU takes no new jobs (gpu.Judge).
//
// A daemon knows one GPU, so a job on several GPUs can not be a client: Allocate refuses it. MIG instances have no
// MPS here: they are isolated by hardware already.
package mps
