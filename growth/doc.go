// Package growth defines the quantities, names and categories that every decision uses.
//
// The module around it is the model of Trellis. Its packages decide and never act: none does I/O, reads a clock, logs,
// or keeps mutable package-level state. Time is an argument and a reason is a result. The same code therefore runs on
// a Kubernetes node, in a unit test and in virtual time. purity_test.go enforces this.
//
// # Data flow on one node
//
// The coordinator turns sockets, logs, cgroups and informers into events. Package node is a state machine that maps
// an event and the current time to effects, and calls the other packages on the way:
//
//	pods, progress reports, CPU usage, kubelet's answers, advice, ticks
//	   │
//	   ▼
//	node.Step(now, event)
//	   │
//	   ├─► efficiency     growth and category of each job, from its metric and its CPU usage
//	   ├─► remaining      work to the end and work to the target, from totals, curves and similar jobs
//	   │      │
//	   │      ▼
//	   ├─► flowcon        CPU shares by growth          ┐  package policy names
//	   ├─► fairfinish     CPU shares by remaining work  ┘  the policies, also of the time of GPUs
//	   │      │
//	   │      ▼ shares
//	   ├─► resize         CPU requests that are worth a resize, and retries after a refusal
//	   ├─► trial          an advised batch size: keep it or roll it back
//	   ├─► rightsize      memory requests that are worth a resize, from the peaks of package peaks
//	   ├─► halt, save     stops all processes of a job at one step, and follows a request to save
//	   │
//	   ▼
//	effects: resizes, job configuration, samples on the bus, Kubernetes events, the next wake-up
//
// Other packages decide outside a node. The tuner assigns data-loader workers with loader, batch sizes with goodput, and
// requests and numbers of workers with peaks and elastic; programs merges what the nodes have learned. The extender places a
// pod with placement, which uses the slowdowns of interference, and the pods of a distributed job with gang. It chooses victims
// with preempt. A job moves by move, because its user asks or because rebalance decides so, which judges moves with specon. Only
// benchmarks use the published algorithms in specon and the four cases of deadline. Package gpushare defines the annotations of a
// pod; gpushare/aliyun is the compatibility layer for Aliyun gpushare.
//
// Binaries exchange records over the bus (package bus). A job and its coordinator exchange lines on a socket (package
// wire); package shim embeds the Python side of that protocol.
//
// # Growth
//
// A job reports its evaluation function E, a loss or an accuracy, while it trains. Growth follows from E and from the
// Work that the job did, which counts the resource that limits it (Unit): cores, or GPUs where their time is divided.
//
//	P = improvement of E per second                    metric/s         FlowCon eq. 4.1
//	G = P / cores or GPUs in use                       metric/Work      FlowCon eq. 4.2
//	g = G / the job's own decaying peak of G           0..1, scale-free
//
// Categories (Progressing, Watching, Converged) follow from g.
//
// # Units
//
// The type of a quantity states its unit (MiB, MilliCPU, Seconds, PerSecond), names a Unit (Work) or makes it dimensionless
// (Share and Growth, both 0..1). No exported function takes or returns a bare float64 for a quantity with a unit.
package growth
