// Package training makes Kubernetes objects of a workload's jobs, and timeline readings of what became of them.
//
// A job is a bare pod as a user would write it: the annotations gpushare/gpu-mem, gpushare/metric and gpushare/progress, a
// CPU and a memory request, no limit, no resource of Trellis' own, no scheduler name. All the rest is Trellis' business,
// which is what a benchmark is to show. The pod's program is benchmarks/jobs, from a ConfigMap; its checkpoints lie on an
// emptyDir, so that a container that is restarted in place goes on where it was.
//
// On a local cluster the image is "machine", a set of empty folders over which the pod mounts this machine's own, read-only:
// the python3 and PyTorch of the distribution, with no image of a gigabyte.
package training
