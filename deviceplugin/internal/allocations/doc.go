// Package allocations records on the bus which pod holds which device ids, as kubelet reports it.
//
// Inputs: kubelet's PodResources (which container holds which ids), the API server's pods (the UID of each name), the
// bus (the records of earlier runs), and the slots on disk. Outputs: the node's allocation records, the removal of
// slots that no container uses, and the demands that guide the choice of device ids.
//
//	kubelet PodResources ─┐
//	API server pods ──────┼─> Reconcile ─> Corrections ─> allocation records on the bus, slots removed
//	bus, slots on disk ───┘
//
// Reconcile is pure. It never deletes on missing information: until the API server has listed the node's pods, no
// record and no slot is removed. Invariant: kubelet is the source of truth; a record that differs from what kubelet
// lists is rewritten. A kubelet that has lost its checkpoint lists a running container without devices. The container
// then keeps its record and its slot (Holdings), and an event reports it.
//
// Tracker runs Reconcile every few seconds and after each change of a pod or of the bus, so it also recovers from a
// crash. Observe records one pod at once, before its container starts. An unavailable bus or API server delays the
// record, never the start of a container.
//
// Imported pods were started by another device plugin of the same resource. Kubelet reports how many units they hold,
// and their annotation names the GPU. Tracker records them as they are, and ImportedUnits keeps as many of our own
// ids unused.
//
// Demands lists the containers that kubelet will allocate for next: those of pods bound to this node, minus those that
// already hold their units. InUse finds ids that kubelet offers although a container holds them. Kubelet can lose an
// allocation in progress when it serves a List request, so listGate keeps the two apart.
package allocations
