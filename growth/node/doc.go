// Package node takes all decisions about one node. It is a state machine in the style of etcd's raft.
//
//	Event, now ──► Node.Step ──► Effects
//
// A caller converts what happens on the node into events, steps the node with each event, and executes the effects. The
// coordinator does so for a real node and the simulator for a simulated one. The package has no clock, no I/O and no
// goroutine: the same events at the same times have the same effects.
//
// # From a report to a share
//
//	ProgressReported ─► report        step counter, metric, curve, rates                (progress.go, steps.go, window.go)
//	Ticked           ─► observe       CPU use, step cost                                (tick.go, cost.go)
//	                    classify      growth and category                               (package efficiency)
//	                    forecast      work left, work to target: own curve, similar jobs (forecast.go, similar.go)
//	                    divide        shares, by the policy                             (divide.go, harmless.go)
//	                    reconcile     resizes, unless kubelet has refused them          (reconcile.go, refusal.go)
//	                    gate          GPU time, by the shares                           (duty.go)
//	                    publish       samples, load, memory                             (sample.go, memory.go)
//
// A decision is due at each interval, later if the policy backs off, and soon after an arrival, a departure or a change
// of category. Effects.Wake is its time.
//
// # CPU pool
//
// The jobs of a node share the sum of the CPU requests that they were created with, so that the sum of the requests,
// and with it the scheduler's accounting, does not change. A job shares if its user permits "cpu" to be tuned and its
// pod can be resized in place. Other jobs are observed, and their CPU is not changed.
//
// Package resize decides which changes are worth a resize. A request that kubelet refuses is taken back, and the pool
// shrinks by what the job cannot get.
//
// # Advice
//
// Loaders are delivered as advised. A batch size goes on trial (package trial): it is offered once the job's pace is
// known, observed for some intervals, and rolled back if the job gets worse.
//
// # Restarts
//
// Category, share, work and memory of the classifier come back from the last samples on the bus, or from the memory
// file of the node; original requests come from annotations. Each of those carries the node's private state as JSON
// with a version of its own (state.go). Without any, the requests of the pods stand for their shares, and growth is
// learned again.
package node
