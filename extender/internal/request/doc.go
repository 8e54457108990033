// Package request reads the fields of a pod that decisions need: its request, its node, its priority, and what is invalid
// about its annotations. The rest of the pod is dropped, so that a cluster with many pods takes little memory.
package request
