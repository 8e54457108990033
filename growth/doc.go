// Package growth is the vocabulary of Trellis: the quantities, names and categories that every decision speaks in.
//
// The module around it is the model. Its packages decide; they never act. None of them does I/O, reads a clock,
// starts a goroutine, logs, or keeps package-level state: time comes in as an argument, reasons go out as values.
// That is what lets the same code run beside a real Kubernetes, in a unit test, and in virtual time. purity_test.go
// checks the imports. The client of the bus is in the module daemon.
//
// # Flow
//
// A job reports its evaluation function E (a loss, an accuracy) as it trains. From that and from what it used:
//
//	P = improvement of E per second               growth/efficiency, FlowCon eq. 4.1
//	G = P / cores in use                          growth/efficiency, FlowCon eq. 4.2
//	g = G / the job's own decaying peak of G      scale-free, 0..1
//
// g sorts jobs into categories (Progressing, Watching, Converged). Shares of the node come from categories and g
// (growth/flowcon), or from what each job still needs (growth/remaining) inside the slack that fair sharing leaves
// (growth/fairfinish). Of the CPU requests that they come to, growth/resize says which are worth asking kubelet for, and
// what to do where it says no. GPU time follows the shares (growth/duty), and they bound the data-loader workers that the
// tuner gives each job (growth/loader); a batch size that is advised is tried, and kept or taken back (growth/trial). The
// extender places the next job where the sum of growth suffers least (growth/placement, by growth/interference's
// slowdowns), and makes room where growth is lost least (growth/preempt).
//
// What one binary writes and the others read travels as records on the bus (growth/bus), what a job and its
// coordinator say to one another as lines on a socket (growth/wire), and what a user may ask for as annotations
// on a pod (growth/gpushare; gpushare/aliyun for pods and tools of the project of that name).
//
// # Units
//
// Quantities bear their unit in their type (MiB, MilliCPU, Seconds, PerSecond) or are dimensionless by definition
// (Share and Growth in 0..1). A bare float64 does not cross a package boundary.
package growth
