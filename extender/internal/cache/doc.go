// Package cache keeps an immutable snapshot of the cluster: each node's GPUs and their jobs, each pod that requests a
// share, and the growth of each job.
//
// There are four sources: pods and nodes from the API server, node records and job samples from the bus. One goroutine
// (Cache.Run) applies their changes, makes a new NodeInfo for each node they affect, and publishes the next Snapshot by
// swapping a pointer. A request takes the pointer once, and decides on one instant of the cluster without a lock. While
// the bus is unavailable the last snapshot stays, and says so.
//
// A NodeInfo describes the node as its records have it. Expected describes it without the pods that have ended and whose
// records have not been removed yet.
package cache
