// Package pki issues the certificates of a local cluster and writes kubeconfig files with them.
//
// Each cluster has one certificate authority, created and deleted with it. Keys are ECDSA P-256. A client's identity is
// in its certificate's subject: the common name is the user, the organisations are the groups, as Kubernetes reads
// them. A second authority signs for etcd alone, so that no client of the API server can connect to etcd.
package pki
