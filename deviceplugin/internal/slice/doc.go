// Package slice cuts GPUs into the devices that kubelet counts, and chooses among them. It is pure.
//
// A device id is "<GPU uuid>/<n>": one unit of memory on that GPU (1 GiB by default). An id says where it lies, so a
// set of ids says all there is to know about an allocation, whoever holds it. That is why Trellis needs no match
// between a pod and kubelet's Allocate, which names no pod: kubelet's own accounting of ids is the lock.
//
//	Choose   which ids kubelet should take: those of the GPU reserved for a container that asks for so many units,
//	         in order of the pods' creation, as kubelet admits them; else the tightest fit beside reserved room
//	Spare    which ids stay unused because another plugin's pods hold memory there
//	Spread   which GPUs a set of ids lies on, and how much on each
//	Slot     the name of the folder that belongs to a set of ids
//
// Choose is a hint: kubelet may take others, and Spread then says what was really given. Units are coarse on purpose:
// one ListAndWatch message holds every id, and gRPC stops at 4 MiB (8 GPUs of 141 GiB make 1,128 ids, about 70 KB).
package slice
