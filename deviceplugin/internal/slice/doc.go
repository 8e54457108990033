// Package slice divides GPUs into device ids and chooses among them. It is pure.
//
// A device id is "<GPU uuid>/<n>", one unit of memory on that GPU (1 GiB by default). Since an id names its GPU, the
// ids of an allocation determine its GPUs and memory, regardless of their holder. Trellis therefore needs no match
// between a pod and kubelet's Allocate call, which does not name the pod: kubelet's accounting of ids is the lock.
//
//	Choose           input: available ids and demands; output: the ids that kubelet should allocate
//	Withheld         ids that stay unused, because another plugin's pods hold the memory
//	Spread           the GPUs of a set of ids, with the units on each
//	Holding          a container of a live pod with its ids, which ChooseUnheld avoids although kubelet offers them
//	MatchAllocation  the demand that an allocation most likely satisfies
//	Slot             the directory name that belongs to a set of ids
//
// Choose is only a hint: kubelet may allocate other ids, and Spread shows the result. Units are coarse because each
// ListAndWatch message lists every id and gRPC limits messages to 4 MiB: 8 GPUs of 141 GiB make 1,128 ids, about 70
// KB.
package slice
