// Package ledger keeps the books of a node: who holds which units, on the bus as in kubelet.
//
// Kubelet's PodResources are the truth, the API server's pods give names their UIDs, the bus is what the rest of
// Trellis reads. Balance compares the three, and the slots on disk, and says what is to be written and removed. It is
// pure, and it destroys nothing on ignorance: as long as the API server has not listed the node's pods, no allocation
// and no slot is removed.
//
// Ledger applies that: at once for the pod whose container is about to start (Observe), and for everything every few
// seconds, on each change of a pod and of the bus, and so after a crash too. A bus or an API server that is away
// delays what is written, never the start of a container.
//
// Pods that another device plugin of the resource started are imported: kubelet says how many units they hold, their
// annotation on which GPU. They are recorded as they are, and Held keeps as many of our own ids unused, until they end.
//
// It also tells what kubelet will be asked for next (Demands): the containers of pods that are bound here, with their
// reservations, less those that hold their units already. And it knows better than kubelet what is free (Taken): one that is
// asked for its books while it allocates may offer twice what it has, so it is not asked then (turns).
package allocations
