// Package controlplane says how the stock control plane of a local cluster is run: which certificates it needs, with
// which flags each program starts, in which order, and how to tell that it serves.
//
// The programs are the unchanged upstream ones: etcd, kube-apiserver, kube-controller-manager and kube-scheduler. All
// of them listen on the cluster's own bridge address, so that two clusters never meet; the ports are the usual ones.
// Authorization is Node and RBAC with the NodeRestriction plugin, as on a production cluster, and everybody comes
// with a client certificate of his own. etcd takes clients of its own authority only: the API server.
package controlplane
