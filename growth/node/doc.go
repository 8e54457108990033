// Package node decides everything about one node: a state machine in the style of etcd's raft.
//
//	Event, now ──► Node.Step ──► Effects
//
// The caller converts sockets, logs, cgroups and informers into events, calls Step with each event and the current
// time, and executes the effects. The coordinator does this for a real node, the simulator for a simulated one. The
// package has no clock, no I/O and no goroutines. Invariant: the same events at the same times have the same effects.
//
// # From a report to a share
//
//	ProgressReported ─► report         step counter, metric, curve, rates           (progress.go, ranks.go, steps.go, window.go)
//	Ticked           ─► observe        CPU usage, cost of a step                    (tick.go, job.go, cost.go)
//	                    classify       growth and category                          (package efficiency)
//	                    forecast       remaining work, work to target               (forecast.go, similar.go, target.go)
//	                    divide         shares, by the policy                        (divide.go, harmless.go)
//	                    status        ends and deadlines                           (ends.go, deadline.go)
//	                    reconcile      CPU requests that differ from the decision   (reconcile.go, refusal.go)
//	                    decideGPUs     turns on GPUs, by the policy                 (gpudecide.go, gpuplan.go)
//	                    publish        samples, load, memory                        (sample.go, memory.go)
//
// A decision is due at each interval, later if the policy backs off, and soon after an arrival, a departure or a change
// of category. Effects.Wake is the time of the next decision.
//
// # CPU pool
//
// The jobs of a node share the sum of the CPU requests with which they were created. The sum of all requests on the
// node, which the scheduler accounts, therefore stays the same. A job shares if its user permits tuning of "cpu" and
// its pod can be resized in place. Other jobs are observed, and their requests stay unchanged.
//
// The request of a pod is kubelet's sum (Pod.Total), which includes init containers, sidecars and overhead. A job leaves
// the pool while another client changes its request (yield.go). Increases never exceed the room that the other pods of
// the node leave (room.go).
//
// Package resize decides which changes are worth a resize. If kubelet refuses a request, the node restores the request
// in force, and the pool shrinks by the part that the job could not get.
//
// # GPU time
//
// Where the GPUs compute (Config.GPUTime), the policy divides their time instead of the CPU, in GPU-seconds. Groups of GPUs
// are decided one by one (gpugroups.go). The caller gives turns by Effects.Turns and returns what each job has used
// (GPUUse), which is charged to the job (gpumeter.go). Jobs are not paused without a gain, or next to a job that cannot be
// paused. CPU requests stay as the pods were created (gpucpu.go).
//
// Jobs with gaps do more at the same time than in turns. Their speeds are measured (gpuspeeds.go): of all jobs of a group
// before they take turns (gpuprobe.go), and of pairs in trials (gputrials.go). Jobs that are faster so hold the turn as a set,
// or take no turns (gpusets.go, package corun). What a job gets done so, relative to computing alone, is its pace (gpupace.go).
//
// # Jobs of several processes and pods
//
// A job has one curve, also if several processes report (ranks.go) or if it has several pods (gang.go). The lowest rank
// moves the curve. Pods of one job have equal shares, and a silent one has the category of the one that reports.
//
// # Advice
//
// Numbers of data-loader workers are delivered as advised. A batch size is first tried (package trial): it is offered
// once the throughput before it is known, and rolled back if the job gets worse.
//
// # Events
//
// A job has events for its arrival, the first value of its metric, changes of its category and its end (arrival.go,
// ending.go). The first change of its CPU request is an event; later changes are summarised (sharereport.go). Each change
// is in the decision log and in the log.
//
// A job whose processes have ended leaves the pool before its pod ends (lifetime.go).
//
// # Restarts
//
// A coordinator resumes category, share, work and classifier state of each job from the job's last sample on the bus,
// or from the memory file of the node. Original requests come from pod annotations. Samples and file carry private
// state as versioned JSON (state.go). If neither exists, shares start from the requests of the pods, and growth is
// learned again.
package node
