// Package cgroup gives a cluster its own branch in every cgroup hierarchy of the machine, and finds and ends the processes
// in it.
//
//	/trellis-<cluster>/system      the supervisor, the control plane, and each node's kubelet, containerd, kube-proxy
//	/trellis-<cluster>/node-<i>    the node's cgroup root: kubelet's pods, tied to the node's cores
//
// Both cgroup versions are supported. On v1 (also "hybrid") every controller has a hierarchy of its own, the branch exists in
// each, and a cpuset needs cores from its parent before it accepts a process. On v2 there is one hierarchy, and
// controllers are handed down level by level; a group with children contains no process.
//
// The branch makes clean-up reliable: a process can leave its parent, its session and its namespaces, but not the branch.
package cgroup
