// Package learn runs what a tuner learns from snapshots of the bus, and keeps it there.
//
//	history.Snapshot ─> Learner ─> models/<name>, at most once a minute
//	models/<name> ─> Learner, when this process becomes the leader, or after another one has written
//
// A write is guarded by the revision of the record that it extends. After a conflict the Learner starts again from the record on the
// bus. A record that this build cannot decode is never overwritten: a newer release owns it.
package learn
