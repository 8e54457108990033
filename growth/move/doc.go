// Package move is the state machine that moves a job to another node: save, evict, place, restore. It decides what is next and
// what has to hold meanwhile. It does nothing itself, so that a crash of any party at any time can be tested.
//
//	Proposed ─► Saving ─► Saved ─► Evicted ─► Placed ─► Restored ─► Done
//	    └──────────┴─────────┴────────┴──────────┴──────────────────► Aborted
//
//	Saving    the coordinator of the old node asks the job to save, and holds it at that step
//	Saved     the checkpoint is complete and its hash recorded; the old pod may be evicted
//	Evicted   the old pod is gone; its successor has no node yet
//	Placed    the successor is bound to a node
//	Restored  the successor has reported a step at or after the saved one
//
// # Records and wants
//
// A Record is on the bus. Next returns the record that follows from what was observed; the caller replaces the record on
// the bus if no other mover has (compare-and-swap). Wants returns what has to hold in a state. Every want is level-triggered: the
// caller makes it so, again and again, and it does not matter who has begun. So a crash between two calls, and two movers at the
// same time, do no harm.
//
// # What makes it safe
//
//   - The old pod goes only after its checkpoint has been recorded, and its job is held from then on, so that nothing is lost.
//   - The permission to evict is on the old pod itself, as an annotation that is changed by compare-and-swap: from none to
//     granted, or to withdrawn for good. A mover that has slept evicts only a pod with the permission of its own move. A move
//     in state Saved is aborted only once the permission is withdrawn. Without this a bare pod could be evicted after its copy
//     was deleted.
//   - The copy of a bare pod is created behind a scheduling gate. The gate is removed only in a state after Saved, which is
//     entered when the old pod is gone. A job never runs twice at a time.
//   - A Job takes the eviction of its pod for a failure: it counts it against backoffLimit, and waits 10 s before it creates the next
//     pod. So the old pod leaves its Job first, by a label, and the Job creates the next pod at once. That waits for the end of the
//     old one. A move that is given up then ends only once the old pod is the only one of its Job again.
//   - After the eviction, a move is never undone. If the target has no room any more, the successor may run anywhere.
//
// # Gangs
//
// The pods of a gang move completely or not at all (Together). Each pod has a record of its own, with the same ID. Until all pods
// have saved the same step, memory is reserved for each of them, and the disruption budgets permit all evictions, the records change in
// one transaction: one failure aborts all, and every pod runs on. The transaction to Saved is the commit: no pod is evicted before
// it, and none is spared after it. The new pods wait until all old ones are gone. A pod that stays on its node starts again there, since
// the processes of a distributed job start together.
//
// # What may go wrong
//
// An abort before the eviction leaves the old pod running. An abort after it leaves the successor to its owner and to the
// scheduler: only the target is dropped. Record.Why says which it was.
package move
