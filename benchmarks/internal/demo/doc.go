// Package demo runs a workload on a cluster with Trellis and watches it to its end.
//
// Run is one pass under one policy: a namespace of its own, the jobs' programs, then once a second one look at everything
// (pods, events, the tuner's state), from which the timeline, the screen and the results folder are fed. Demo puts passes
// together: the cluster before and after, more rounds and passes under fair sharing to compare with, on the nodes that the
// scheduler chose in the first pass, the conclusion and its verdict. Before all that Pace times the machine, so that jobs are
// as long as it takes to see them change. With chaos, each look ends with a turn of package chaos, which kills Trellis' own
// binaries.
package demo
