// Package aliyun is the compatibility layer for Aliyun gpushare (AliyunContainerService): the names, pod annotations
// and JSON on which existing pods and tools depend. A cluster uses it while it migrates.
//
//	Resource     extended resource of such pods, in units that the node's device plugin chose (1 GiB by default)
//	Assignment   the annotations of a placed pod: written with the Binding, read from pods of the Aliyun device plugin
//	Inspection   the response of GET /inspect: the pods on each GPU of each node, in units
//
// Aliyun gpushare identifies a GPU by its index in the driver's order; Trellis uses UUIDs. The index is the position in
// the node's inventory, which keeps the driver's order. An index is trusted only if the pod was placed with the same
// numbering.
package aliyun
