// Package resources learns how much CPU, memory and GPU memory jobs use at most, and recommends requests.
//
//	history.Snapshot ─> Learner: remember jobs that have ended ─> models/peaks
//	                          └─> Recommend ─> package advise ─> jobs/<uid>/advice
//
// The predictions are those of package growth/peaks. A job has ended when its sample has been missing for a minute: while a coordinator
// restarts, its jobs have no samples. A job that comes back later still, as after a long outage of its node, is remembered again when it
// ends, in place of its earlier run. Only the leader runs a Learner. Without the record on the bus, as after a failure, it learns again
// from the jobs that end.
package resources
