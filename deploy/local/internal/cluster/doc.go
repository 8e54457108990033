// Package cluster brings a local cluster up, keeps it, and takes it down so that nothing is left.
//
// Three processes take part. `local up` holds the cluster's lock, chooses addresses, writes the [state.Record] and starts
// a supervisor. The [Supervisor], in a session and cgroup of its own, creates the bridge and starts every program. Each
// node's init (package node) starts the programs of the node in the node's namespaces.
//
//	up ── starts, reads progress ──▶ supervisor ──▶ etcd, kube-apiserver, kube-controller-manager, kube-scheduler
//	                                     └────────▶ node init ──▶ containerd, kubelet, kube-proxy, pods
//
// Until the cluster is ready, it is rolled back when `up` ends, by Ctrl-C or in any other way. Afterwards it ends with
// `down`, or with the process of --with-pid.
//
// [CleanUp] ends a cluster in all cases. It uses the record and the names that follow from the cluster's name, so it works
// after a crash of the supervisor and may be repeated. The kernel ends the programs with the supervisor, a node's
// processes with its init, and mounts and network namespaces with the node. CleanUp deletes cgroups, the bridge,
// firewall rules and files by name. [Remnants] then lists what is left.
package cluster
