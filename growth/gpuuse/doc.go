// Package gpuuse measures how long the processes of each pod have used each GPU, from the driver's samples. Its Record also has
// their memory.
//
//	driver ──Samples──> Meter ──Record──> file ──Record──> coordinator ──> growth/node
//	      device plugin                 gpu-use.json     charges jobs that hold no turn, learns their memory
//
// The device plugin is the only program with NVML. It replaces the file in the state directory, which it shares with the
// coordinator, every few seconds. The bus is not used: no other node needs the record, and it must arrive while etcd is
// unavailable.
//
// A sample is the fraction of one sampling period, at most a second, in which a kernel of the process was running. Two
// processes that the driver gives equal time slices have about half each. MIG instances have no samples.
package gpuuse
