// Package clusterrun plays jobs on a local cluster of several nodes, and compares what happens with what package clustersim says. It is
// how far the figures of `make bench-specon`, which are of virtual time, hold for real jobs.
//
//	Schedule ──> Bench.Play: alone, together, default, trellis ──> clustersim.Predict of the first two ──> Goals
//
// # Phases
//
//	alone     each job has a node to itself: how long it computes, and how long a pod takes to start and to end,
//	          which the simulator is given
//	together  the jobs that a node has run one after the other run at the same time: the cost of a switch between
//	          jobs, which the simulator is given too
//	default   the jobs arrive, kube-scheduler spreads them, nodes share fairly, and nothing moves
//	trellis   the same jobs with placement by growth, the shipped policy, and moves without a request
//
// Each phase has a namespace of its own, so that no job is known from an earlier one. A job is a Job of Kubernetes with one pod; its
// completion is the time from its creation to its end by its status, in whole seconds.
//
// # Nodes
//
// All nodes are as fast. If the machine has fewer cores than nodes, each node's pods get a part of one
// core by a quota of their cgroup (share.go), which leaves some for the control plane.
//
// # What is compared
//
// The simulator gets the jobs' arrivals, kinds and lengths alone, the cost of a switch, and the times in which a pod starts and ends, when
// other jobs of its node compute. It draws what is not known: which of equal nodes a job is placed on, how far a length is off, and the
// loss. Of its runs, 95 % are in the interval of a figure. A real run within it does not prove the simulator right; one outside of it
// shows that something is missing.
package clusterrun
