// Package plugin implements kubelet's device plugin API.
//
//	Registrar                registers the Server with kubelet, again after each restart of kubelet
//	Server
//	  ListAndWatch           all device ids, again after each change of the inventory
//	  GetPreferredAllocation slice.Choose with the current demands; never an error, which would fail the pod
//	  Allocate               environment and mounts, from the ids alone; works without the bus and the API server
//	  PreStartContainer      records the pod that holds the ids; never an error
//
// Inputs are the GPU inventory, the slots on disk, and Allocations: demands, imported pods and ids in use. Outputs
// are the responses to kubelet, allocation records, and StreamTracker, which reports whether kubelet is connected.
//
// Invariant: Allocate depends on nothing but its ids. It rejects three kinds of request:
//
//   - Ids on several GPUs for a container that requests one. On a nearly full node, kubelet takes any remaining ids.
//   - Ids on one GPU for a container that requests several. Kubelet's Topology Manager chooses a NUMA node by the number
//     of its units, before it asks for preferred ids. Those can then only be of that node (topology.go).
//   - Ids that a container holds. Kubelet can offer them after a List request during an allocation
//     (kubernetes/kubernetes#137534), or after the loss of its checkpoint. GetPreferredAllocation avoids such ids, so a
//     rejection is rare. The records of the node decide: the bus, the slots on disk, and kubelet's list.
//
// A Registrar ends the process when another plugin serves the same resource or the same GPUs.
package plugin
