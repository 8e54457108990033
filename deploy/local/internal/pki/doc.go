// Package pki issues the certificates that the parts of a local cluster know each other by, and writes the client
// configurations (kubeconfig files) that carry them.
//
// One certificate authority per cluster, made with it and gone with it. Keys are ECDSA P-256. A client's identity is
// in its certificate's subject: the common name is the user, the organisations are the groups, as Kubernetes reads
// them. A second authority signs for etcd alone, so that no client of the API server can speak to its store.
package pki
