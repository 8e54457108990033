// Package extenderbench measures what the extender costs: the real binary, as a process of its own, on a stock etcd, API server
// and scheduler, beside an extender that does nothing (nullextender), in the same run.
//
//	service     time of filter + prioritize for one pod, asked by one client over one connection, every node named
//	throughput  pods a second from the first create to the last Binding, through the stock scheduler; create → bound
//	writes      the extender's writes per pod, counted by the API server's audit log
//	start       from the start of the process to /readyz, and its peak memory (VmHWM)
//	linear      time of filter by the names sent and by the nodes there are
//
// A node has 8 GPUs of 80 GiB. Nodes are records without kubelets, so that what is measured is the extender and not they.
// Before service times are taken all programs come to rest (rested.go). While they are taken, the books change all the
// time (see churn), and processors wait awake (awake.go). Rounds are interleaved (A B B A); a figure is the median over
// rounds, and its range is told with it. The tail of service times is of all questions of a contestant. It is that of the
// machine as well. A hypervisor that gives its processors to others stops whatever runs there for milliseconds, and a few
// such stops in a second are the slowest per cent. An API server with tens of thousands of pods collects its heap every
// two minutes, for seconds, on the cores of whoever is asked. So a turn in which others had more than a per cent of the
// machine's time (stolen.go), or the API server and its etcd more than a tenth of a core, is taken again, --attempts times
// at most, and the calmest counts (turn.go), with all of its questions, whatever was answered. The tail of all turns that
// were taken is told beside it.
//
// What flatters everybody alike: etcd without fsync, no webhooks, no TLS to the extender, everything on the loopback.
package extenderbench
