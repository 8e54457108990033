// Package cache keeps an immutable snapshot of the cluster: each node's GPUs and their jobs, each pod that requests a
// share, and the growth and the expected end of each job.
//
// There are four sources: pods and nodes from the API server, node records and job samples from the bus. One goroutine
// (Cache.Run) applies their changes, makes a new NodeInfo for each affected node, and publishes the next Snapshot by
// swapping a pointer. A request reads the pointer once. It decides on a consistent state of the cluster, without a lock.
// While the bus is unavailable the last snapshot stays in use, and is marked as such.
//
// Learn follows the model that the tuner has learned. A snapshot has it next to the nodes: a new model makes no new NodeInfo.
//
// A NodeInfo has the node as recorded on the bus. NodeInfo.Expected leaves out pods that have ended and whose records have
// not been removed yet.
package cache
