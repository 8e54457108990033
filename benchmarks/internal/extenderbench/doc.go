// Package extenderbench measures the cost of the extender: the real binary, as its own process, with a stock etcd, API server
// and scheduler. In the same run it measures an extender that does nothing (nullextender), for comparison.
//
//	service     time of filter + prioritize for one pod, by one client over one connection, with the names of all nodes
//	throughput  pods per second from the first create to the last Binding, through the stock scheduler; create → bound
//	writes      the extender's writes per pod, counted in the API server's audit log
//	start       from the start of the process to /readyz, and its peak memory (VmHWM)
//	linear      time of filter by the number of names and by the number of nodes
//
// A node has 8 GPUs of 80 GiB. Nodes are records without kubelets. Rounds are interleaved (A B B A). A figure is the median
// over rounds, with its range.
//
// Service times are measured once all programs are idle (idle.go). During a measurement allocations change
// continuously (churn), and processors are kept out of sleep states (awake.go). The tail is p99 over p50 of all requests to
// a contestant.
//
// The tail also depends on the machine. A hypervisor that takes a processor away stops a program for milliseconds; a few
// such stops per second are the slowest per cent of the requests. An API server with tens of thousands of pods collects
// garbage every two minutes, for seconds, on the same cores. So a turn is repeated if steal time exceeded one per cent
// (ticks.go), or the API server and its etcd used more than a tenth of a core. There are at most --attempts attempts. The
// calmest one counts (turn.go), with all of its requests. The tail of all attempts is reported too.
//
// All contestants benefit alike from: etcd without fsync, no webhooks, no TLS to the extender, one machine.
package extenderbench
