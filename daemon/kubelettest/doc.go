// Package kubelettest is a fake kubelet for tests and benchmarks. It serves kubelet's real APIs on sockets and implements
// the part of the device manager that a plugin depends on.
//
// It registers a plugin, follows its devices, and admits pods container by container like kubelet 1.36: it reuses ids
// of init containers, takes the ids of the NUMA nodes that its Topology Manager chose, asks for preferred ids, adds free
// ids, and calls Allocate. A rejected pod frees its ids. It
// calls PreStartContainer, serves PodResources with one entry per id and without init containers, and removes the
// sockets in its directory when it restarts. Like kubelet's checkpoint, its state of one resource survives a restart,
// unless LoseCheckpoint loses it.
//
// The device plugin's tests (package contract) specify this behaviour. They run against the fake and the real kubelet.
package kubelettest
