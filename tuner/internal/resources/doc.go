// Package resources learns how much CPU, memory and GPU memory jobs use at most, and recommends requests.
//
//	history.Snapshot ─> Learner: remember jobs that have ended ─> models/peaks
//	                          └─> Recommend ─> package advise ─> jobs/<uid>/advice
//
// The predictions are those of package growth/peaks. A job counts as ended when its sample is gone; a coordinator that was
// away for a moment may let a job count twice, which only weighs it more. Only the leader runs a Learner. Without the record on
// the bus, as after a failure, it learns again from the jobs that end.
package resources
