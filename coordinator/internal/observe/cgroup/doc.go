// Package cgroup reads what a pod uses, and what weight its CPU has, from the node's cgroups.
//
// A pod's cgroup is found by its name below the root, whatever lies above it: kubelet's cgroupfs driver calls it
// pod<uid>, the systemd driver kubepods-…-pod<uid with underscores>.slice, and a node inside a node nests both deeper.
//
//	             cgroup v1                              cgroup v2
//	CPU time     cpuacct.usage, ns                      cpu.stat usage_usec
//	CPU weight   cpu.shares, 2..262144                  cpu.weight, 1..10000
//	memory       memory.usage_in_bytes − inactive file  memory.current − inactive file
//	block I/O    blkio.throttle.io_service_bytes_…      io.stat rbytes, wbytes
//	pressure     –                                      {cpu,memory,io}.pressure
//	queued       its threads' /proc/<tid>/schedstat     cpu.pressure
//
// Network I/O belongs to no cgroup: it is read as one of the pod's processes sees its interfaces, which takes the node's
// process IDs (hostPID) and is unknown without them. To read threads' queues takes these as well.
//
// A weight is read, never computed: runtimes disagree on how a request becomes one.
package cgroup
