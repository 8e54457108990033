// Package cgroup gives a cluster its own branch in every cgroup hierarchy of the machine, and finds and ends
// whatever runs in it.
//
//	/trellis-<cluster>/system      the supervisor, the control plane, and each node's kubelet, containerd, kube-proxy
//	/trellis-<cluster>/node-<i>    the node's cgroup root: kubelet's pods, tied to the node's cores
//
// Both layouts are served. On v1 (also "hybrid") every controller has a hierarchy of its own, the branch exists in
// each, and a cpuset must be filled from its parent before it takes a process. On v2 there is one hierarchy, and
// controllers are handed down level by level; a branch with children holds no process itself.
//
// Membership is what makes clean-up certain: a process can leave its parent, its session and its namespaces, but it
// stays in the branch.
package cgroup
