// Package aliyun is the contract of gpushare as AliyunContainerService ships it, as far as pods and tools that were written
// for it depend on it: names, the annotations of a placed pod, and the JSON of /inspect. A cluster keeps them while it moves
// over.
//
//	Resource     what pods ask by, in units that a node's device plugin chose (1 GiB here)
//	Placed       a pod's place as its annotations tell it: written with the Binding, read from pods of the old device plugin
//	Inspection   who is on which GPU of which node, in units
//
// GPUs are numbered there, by the driver's order; everything else in Trellis names them by UUID. A number is a GPU's place
// in its node's inventory, which keeps that order, and is believed only for a pod that was placed under the old numbering.
package aliyun
