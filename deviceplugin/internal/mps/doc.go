// Package mps runs one control daemon of NVIDIA's Multi-Process Service per GPU (--sharing=mps). The processes of
// several containers then run on the GPU at the same time. The driver limits each one's device memory and share of
// GPU threads.
//
// Inputs are the GPU inventory and the daemon program. Outputs are the pipe and shared memory directories that
// Allocate mounts, and the health of each GPU: Supervisor is a gpu.HealthCheck, and a GPU takes no new jobs until its
// daemon is ready. Threads limits the threads of new clients by their share, if the operator wants that (growth/mpsthreads).
//
// Limits of isolation: the clients of one GPU share a server and /dev/shm. A fatal fault of one client ends all of
// them. A client that replaces the CUDA libraries in its image escapes its limits. See the threat model in the
// README.
//
// A Daemon is a foreground process with its own directories. When it dies, every CUDA context on its GPU is lost, and
// the jobs must be restarted, which their controllers do. The daemon is restarted with exponential backoff.
//
// A daemon serves one GPU, so Allocate rejects jobs on several GPUs. MIG instances are isolated by hardware and have
// no daemon.
package mps
