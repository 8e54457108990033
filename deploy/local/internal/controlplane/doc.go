// Package controlplane configures the stock control plane of a local cluster: the certificates that it needs, the flags and
// the order of its programs, and the checks that it is ready.
//
// The programs are the unchanged upstream ones: etcd, kube-apiserver, kube-controller-manager and kube-scheduler. They
// listen on the usual ports of the cluster's own bridge address, so clusters do not share an address. Authorization is
// Node and RBAC with the NodeRestriction plugin, as on a production cluster, and each client has its own certificate.
// etcd accepts clients of its own authority only: the API server.
package controlplane
