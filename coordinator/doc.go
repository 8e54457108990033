// Command coordinator divides the CPU of one node, and the time of its GPUs, among its training jobs, by how much each of
// them still improves. It runs as a DaemonSet on nodes with the label gpushare=true.
//
// Package growth/node decides: it is a state machine without I/O, Step(event, now) → effects. The packages here convert
// what happens on the node into events, and execute the effects. From top to bottom:
//
//	kernel: cgroups, PSI          observe/cgroup ────────┐
//	job: messages on its socket   observe/socket ────────┤
//	job: use of its GPUs          turns ─────────────────┤
//	job: its log                  observe/podlog ──┐     │
//	job: a file in its container  observe/jobfile ─┤     │
//	                                 observe/lines ┴─────┤
//	API server: pods, node        pods ──────────────────┤
//	bus: allocations, advice      loop (bus watches) ────┤
//	                                                     ▼
//	                                    loop: node.Event, one at a time
//	                                                     │
//	                                    growth/node: Step(event, now)
//	                                                     │
//	                                    loop: execute(node.Effects)
//	                                                     │
//	CPU requests of pods          enforce ◄──────────────┤ API server, or cgroup weights
//	loaders, batch size           observe/socket ◄───────┤ messages to the jobs
//	saves by a signal             signalsave ◄───────────┤ signals, and the files that jobs write then
//	pauses without the shim       freeze ◄───────────────┤ freezer of cgroup v2
//	plan of the GPUs' time        turns ◄────────────────┤ growth/turn per group of GPUs, on turn sockets
//	samples, load                 publish.Records ◄──────┤ bus
//	events, annotations           publish.Pods ◄─────────┤ API server
//	state for a restart           recall ◄───────────────┘ a file on the node
//
// A decision is due at each interval, and soon after an arrival, a departure or a change of category. The result of a
// resize comes back to the loop as an event.
//
// Package turnbench measures turns with real jobs (make bench-turns).
//
// Package explain shows the last decisions about a pod, probes reports readiness, metrics has the counters, and config
// the flags.
package main
