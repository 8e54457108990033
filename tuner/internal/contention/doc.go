// Package contention learns how much jobs that share a GPU slow one another down, and publishes it as the model
// models/interference.
//
//	history.Snapshot ─> learning: interference.Learner on the speeds of all nodes ─> Controller ─> bus
//
// A node's record has the time for which it has measured each set of jobs. It observes the time that is new. The
// model's record has the revision up to which the records of nodes are part of it. So a new leader continues where the
// last one stopped.
//
// Only the leader learns. Its write is guarded by the revision of the record that it extends. After a conflict it
// starts again from the record on the bus. A record of an unknown version belongs to another release: it stays as it
// is, and nothing is learned. That costs performance only, because readers fall back to the prior. A record of this
// version with impossible content is replaced.
package contention
