// Package contention learns how much jobs that share a GPU slow one another down, and publishes it as the model
// models/interference.
//
//	history.Snapshot ─> learner: interference.Learner on the speeds of all nodes ─> learn.Controller ─> bus
//
// A node's record has the time for which it has measured each set of jobs. It observes the time that is new. The
// model's record has the revision up to which the records of nodes are part of it. So a new leader continues where the
// last one stopped.
//
// The model's record does not have the times of each node, which would be too many. If a node has published after that
// revision, its times are a base line for the new leader. What the node has measured in between is lost, except for sets
// that the model does not know.
//
// Only the leader learns. A record of an unknown version belongs to another release and stays as it is. That costs
// performance only, because readers fall back to the prior. A record of this version with impossible content is replaced.
package contention
