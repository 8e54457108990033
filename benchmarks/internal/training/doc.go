// Package training turns the jobs of a workload into Kubernetes objects, and pods and samples into timeline readings.
//
// A job is a bare pod as a user would write it: the annotations gpushare/gpu-mem, gpushare/metric and gpushare/progress, a
// CPU and a memory request. It has no limit, no resource of Trellis and no scheduler name: admission adds them. The program
// is benchmarks/jobs, from a ConfigMap. Checkpoints are on an emptyDir, so a restarted container resumes.
//
// On a local cluster the image is "machine": empty folders over which the pod mounts this machine's own, read-only. The jobs
// then use the distribution's python3 and PyTorch, without an image of a gigabyte.
package training
