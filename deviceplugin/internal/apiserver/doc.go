// Package apiserver makes the few calls to the Kubernetes API that a node's device plugin needs, on plain HTTP and JSON:
// follow a list, apply an object server-side, create an object.
//
// Client-go brings every API group there is into the program: 40 MB of a binary of 56 MB, most of it resident on every
// GPU node. Here the caller says with a struct which fields it wants, and nothing else is ever held.
//
// Access is a pod's service account, whose token is read again as kubelet renews it, or a kubeconfig with certificates
// or a token. Kubeconfigs that run programs to log in are for people, and are refused with a sentence.
package apiserver
