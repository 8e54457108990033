// Package cgroup reads the resource usage and the CPU weight of pods from the node's cgroups.
//
// A pod's cgroup is found by its name at any depth below the root. kubelet's cgroupfs driver names it pod<uid>, the
// systemd driver kubepods-…-pod<uid with underscores>.slice. A node that runs in a container has more levels above
// both.
//
//	             cgroup v1                              cgroup v2
//	CPU time     cpuacct.usage, ns                      cpu.stat usage_usec
//	CPU weight   cpu.shares, 2..262144                  cpu.weight, 1..10000
//	memory       memory.usage_in_bytes − inactive file  memory.current − inactive file
//	block I/O    blkio.throttle.io_service_bytes_…      io.stat rbytes, wbytes
//	pressure     –                                      {cpu,memory,io}.pressure
//	queued       /proc/<tid>/schedstat of its threads   cpu.pressure
//
// No cgroup controller counts network I/O. It is read from /proc/<pid>/net/dev of one process of the pod. This, and the
// schedstat of threads, need the host's PID namespace (hostPID); without it both are unknown.
//
// The weight is read rather than computed from the request, because container runtimes convert requests differently.
package cgroup
