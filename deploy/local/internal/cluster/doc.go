// Package cluster brings a local cluster up, keeps it, and takes it down so that nothing is left.
//
// Three parties take part. The one who types `local up` holds the cluster's lock, chooses addresses, writes the
// [state.Record] and starts a supervisor; the [Supervisor], a process in a session and cgroup of its own, makes the
// bridge and starts every program; each node's init (package node) starts the node's programs in the node's
// namespaces.
//
//	up ── starts, reads progress ──▶ supervisor ──▶ etcd, kube-apiserver, kube-controller-manager, kube-scheduler
//	                                     └────────▶ node init ──▶ containerd, kubelet, kube-proxy, pods
//
// Until the cluster is ready it belongs to `up`: Ctrl-C, or the end of `up` in any way, rolls it back. Afterwards it
// ends with `down`, or with the process named by --with-pid.
//
// Ending is the same in all cases, [Sweep]: it goes by the record and by the names that follow from the cluster's
// name, so that it works whether or not the supervisor could do its part, and as often as one likes. Programs die
// with the supervisor (the kernel sees to that), nodes die with their init, mounts and network namespaces with the
// node; cgroups, the bridge, firewall rules and files are deleted by name. [Remnants] then looks again.
package cluster
