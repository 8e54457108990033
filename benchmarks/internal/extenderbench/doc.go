// Package extenderbench measures the cost of the extender: the real binary, as its own process, on a stock etcd, API server
// and scheduler. It compares it with an extender that does nothing (nullextender) in the same run.
//
//	service     time of filter + prioritize for one pod, by one client over one connection, with every node named
//	throughput  pods per second from the first create to the last Binding, through the stock scheduler; create → bound
//	writes      the extender's writes per pod, counted in the API server's audit log
//	start       from the start of the process to /readyz, and its peak memory (VmHWM)
//	linear      time of filter by the number of names and by the number of nodes
//
// A node has 8 GPUs of 80 GiB. Nodes are records without kubelets. Rounds are interleaved (A B B A). A figure is the median
// over rounds, with its range.
//
// Service times begin when all programs are idle (rested.go). Meanwhile allocations change all the time (see churn), and
// processors are kept awake (awake.go). The tail is that of all requests to a contestant.
//
// The tail depends on the machine too. A hypervisor that takes processors away stops programs for milliseconds; a few such
// stops per second make up the slowest per cent. An API server with tens of thousands of pods collects its heap every two
// minutes, for seconds, on the same cores. So a turn is repeated if the hypervisor took more than one per cent of the
// machine's time (stolen.go), or the API server and its etcd used more than a tenth of a core. It is repeated --attempts
// times at most. The calmest attempt counts (turn.go), with all of its requests. The tail of all attempts is reported too.
//
// All contestants benefit alike from: etcd without fsync, no webhooks, no TLS to the extender, one machine.
package extenderbench
