// Package cache keeps an immutable picture of the cluster: every node's GPUs and who is on them, every pod that asks for
// a share, and how its job grows.
//
// Changes come from four sources: pods (follower) and nodes (an informer) from the API server, books and samples from the bus. One
// goroutine (Keeper.Run) applies them, remakes what they touch, and publishes the next Snapshot by swapping a pointer. A
// request takes the pointer once and decides on one instant of the cluster, without any lock. While the bus is away
// the last snapshot stays and says so.
//
// Nodes lie in a Roll, where each keeps its place; Verdicts remember by place what was found out about a node's present
// picture. A Node is as the books have it, Expected as they will have it when those who have ended are written off.
package cache
