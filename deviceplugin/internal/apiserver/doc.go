// Package apiserver is a small client of the Kubernetes API over HTTP and JSON: list and watch a collection, apply an
// object server-side, create an object, record an event.
//
// It exists because client-go links all API groups into the binary: 40 MB of 56 MB, most of it resident on every GPU
// node. Here the caller defines a struct with the fields that it needs, and only these are decoded.
//
// Credentials come from the pod's service account, whose token is read again after kubelet renews it, or from a
// kubeconfig with certificates or a token. Kubeconfigs that run a program to log in are rejected.
package apiserver
