// Package kubelet is a client of the node's kubelet: it registers a device plugin and reads the PodResources API.
//
// Kubelet is the source of truth for allocations. The PodResources API identifies pods and containers by name, without
// UIDs. It returns one entry per device id, so a container's ids are the union of its entries. It omits init containers
// that are not sidecars, because later containers reuse their ids. The List response of a full node is large; kubelets
// since 1.34 also serve Get for a single pod (KEP-3695).
package kubelet
