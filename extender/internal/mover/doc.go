// Package mover moves jobs to other nodes (--moves). Package growth/move decides what is next and what has to hold; this package
// observes, makes it so through the API server, and keeps the records on the bus.
//
// # A pass
//
// Once a second, and five times a second while a move is active, each replica
//
//  1. proposes a move for each pod with the annotation gpushare/move that runs and has none, and for all pods of its gang
//  2. reads each record from the bus, and then the pods that it is about
//  3. replaces the record by the one that follows, if no other replica has (compare-and-swap)
//  4. makes what the record wants so: annotations of the old pod, its eviction, the copy of a bare pod and its gate, and begins
//     again at 2 with this record if it has changed an object
//
// The record is read before the pod, and the pod is changed only at the resource version that was read. So a replica that has
// slept changes nothing that another one has changed since.
//
// # Gangs
//
// The pods of a gang (request.Gang) move together. Each has a record of its own, and all records have one ID. A pass reads and
// observes all of them, and replaces those that differ in one transaction. Before the move begins each pod has a node: that in its
// annotation, one of the others (gang.Assign), or its own without a request, where it starts again. The extender reserves
// memory for each, also for the one that stays, and so the new pods do not wait for their gang to be placed (package gangs).
//
// # The job
//
// The old pod is asked to save by the annotation gpushare/save with the ID of the move, and held by gpushare/paused, as a user
// would do it: it stops after a step and saves that one. The answer is the annotation gpushare/saved. An aborted move removes them
// together with the request, and withdraws the permission in the same patch. So that is done once, and a request that comes later is a new
// one. A request for another node during a move is refused (decline).
//
// The checkpoint must be on a volume that the target can mount (checkpointUnavailable). If its path is known, the request is refused.
// Otherwise the move is aborted once all pods of the job have saved.
//
// # The new pod
//
// A controller creates it as soon as the old one is being deleted. It waits until the old one is gone, and may then run on the
// target only (Place, which the scheduler asks in Filter). An annotation then makes kube-scheduler try it again. Until a replica that
// has just started knows the records, pods with an owner wait. A bare pod is copied behind a scheduling gate first. If it asks for GPU memory
// by its containers' limits alone, the copy gets the annotations of the user once it exists (withheld): admission refuses them before.
//
// The new pod carries what the job has saved (handOver): the device plugin puts it into the container, where gpushare.resume() compares
// it with the file.
package mover
