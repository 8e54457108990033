// Package demo runs a workload on a cluster with Trellis and records it.
//
// Run is one pass under one policy. It creates a namespace, the jobs' programs and the jobs. Once a second it reads pods,
// events and the tuner's state, and feeds the timeline, the screen and the results folder. With chaos, each reading ends
// with a turn of package chaos.
//
// Demo combines passes: it brings up the cluster, plays rounds, and compares with fair sharing on the nodes that the
// scheduler chose in the first pass. Pace measures the speed of the machine first and scales the jobs to it.
package demo
