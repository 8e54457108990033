// Package kubelet asks the node's kubelet: for a place among its device plugins, and for what it gave to whom.
//
// What kubelet says in its PodResources API is the truth about allocations. It names pods and containers, not UIDs;
// lists one entry per device id, so a container's ids are the union of its entries; and leaves ordinary init
// containers out, whose ids are used again by the containers after them. The list of a full node is long; a kubelet since
// 1.34 tells of one pod as well (KEP-3695).
package kubelet
