package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

const (
	// deadlinePeriod is the minimum time between two events that a job has one status.
	deadlinePeriod = 10 * time.Minute
	// minRisk is how long estimates must agree before the event that a job is at risk. The first ones are from a few steps, and
	// change by more than the time that is missing.
	minRisk = time.Minute
	// maxTries bounds the early estimates for a job whose work is known. The policy knows it after the next decision.
	maxTries = 6
	// doneSteps is the part of its steps that the last report of a job has that was not ended early. Many jobs do not report each step.
	doneSteps = 0.9
)

// lateness is what is expected of a job's deadline.
type lateness struct {
	// by is the timeout degree; nil if it is unknown. status belongs to it.
	by     *deadline.Degree
	status deadline.Status
	// riskSince is when the first of the present estimates was made that all say the job is at risk; zero if the last one does not.
	riskSince time.Time
	// tries counts the estimates, at most maxTries, in which by was unknown although the work was not.
	tries int
	// reported is the timeout degree that the last event has named.
	reported deadline.Degree
	// give is what would have to happen for the job to be in time, as of asked; nil if that is unknown.
	give  *bus.GiveWay
	asked time.Time
}

// forgetDeadline forgets what was expected of the job's deadline, which has changed.
func (j *job) forgetDeadline() {
	j.late, j.lifetime.Deadline = lateness{}, ""
	for _, reason := range []string{"DeadlineAtRisk", "DeadlineInTime", "DeadlineInfeasible"} {
		delete(j.eventTimes, reason)
	}
}

// deadline returns the deadline of the job's user; zero if there is none.
func (j *job) deadline() time.Time { return j.spec.Deadline.Time(j.pod.Created).UTC() }

// hasDeadline reports whether the job has one. A job whose target is reached has done what it was for.
func (j *job) hasDeadline() bool { return !j.spec.Deadline.Time(j.pod.Created).IsZero() }

// userDeadline returns the deadline for package fairfinish. The result is there when the job ends, or when it reaches the target
// that its user has declared.
func (j *job) userDeadline(f forecast) fairfinish.UserDeadline {
	if !j.hasDeadline() || j.targetReached() {
		return fairfinish.UserDeadline{}
	}
	work := f.remaining
	if j.endsByTarget(f) {
		work = f.toTarget
	}
	return fairfinish.UserDeadline{At: j.deadline(), Work: work, Priority: float64(j.priority())}
}

// endsByTarget reports whether the job is expected to reach its user's target before its end.
func (j *job) endsByTarget(f forecast) bool {
	return j.spec.Target.Declared() && f.toTarget.Known && (!f.remaining.Known || f.toTarget.Likely < f.remaining.Likely)
}

// forecastDeadline records by how much a job is expected to miss its deadline, and an event if the status has changed.
func (n *Node) forecastDeadline(j *job, e estimate, end fairfinish.End) {
	if end.Due == nil || !j.hasDeadline() || j.pod.Ended() {
		return
	}
	left := growth.Seconds(j.deadline().Sub(n.now).Seconds())
	by := deadline.DegreeOf(*end.Due, left).Round()
	before := j.lifetime.Deadline
	j.late.by = &by
	j.late.status = before.Next(by, deadline.DegreeOf(*end.Alone, left))
	switch {
	case j.late.status != deadline.AtRisk:
		j.late.riskSince = time.Time{}
	case j.late.riskSince.IsZero():
		j.late.riskSince = n.now
	}
	if j.follows() || left <= 0 {
		return
	}
	switch j.late.status {
	case deadline.Infeasible:
		if before == deadline.Infeasible {
			return
		}
		n.reportDeadline(j, true, "DeadlineInfeasible", fmt.Sprintf("The job cannot end before its deadline, %s: it needs %s at least, "+
			"even if it gets all that it can use. It keeps its normal share, and no job gives way for it. Give it a later deadline, or create it "+
			"with fewer steps or more resources", j.deadline().Format(time.RFC3339), deadline.Rough(end.Alone.Low)))
	case deadline.AtRisk:
		if n.now.Sub(j.late.riskSince) < minRisk {
			return
		}
		n.askOthers(j, e)
		if n.worthReporting(j) {
			n.reportDeadline(j, true, "DeadlineAtRisk", fmt.Sprintf("The job will miss its deadline, %s, by %s. %s",
				j.deadline().Format(time.RFC3339), by.By(), n.giveWayText(j, e)))
		}
	case deadline.OnTime:
		if before == deadline.AtRisk || before == deadline.Infeasible {
			n.reportDeadline(j, false, "DeadlineInTime", fmt.Sprintf("The job is expected to end %s before its deadline, %s",
				deadline.Rough(-by.Likely), j.deadline().Format(time.RFC3339)))
		}
	}
}

// newDeadline reports whether the work of a job with a deadline has become known since the last estimate of the ends. That estimate
// then comes early, so that an infeasible deadline is reported at once.
func (n *Node) newDeadline() bool {
	for _, j := range n.sorted() {
		if j.hasDeadline() && !j.follows() && j.late.by == nil && j.late.tries < maxTries && n.now.Before(j.deadline()) {
			if work := j.userDeadline(n.forecast(j)).Work.In(n.unit()); fairfinish.Sized(work) {
				j.late.tries++
				return true
			}
		}
	}
	return false
}

// followDeadlines records that deadlines have passed, or that a target was reached before.
func (n *Node) followDeadlines() {
	for _, j := range n.sorted() {
		switch {
		case !j.hasDeadline() || j.follows() || j.pod.Ended():
		case j.targetReached():
			n.endDeadline(j)
		case !n.now.Before(j.deadline()) && j.lifetime.Deadline != deadline.Missed && j.lifetime.Deadline != deadline.Met:
			j.lifetime.Deadline = deadline.Missed
			n.event(j, 0, true, "DeadlineMissed", fmt.Sprintf("The deadline, %s, has passed, and the job runs on, at %s. It keeps its normal share",
				j.deadline().Format(time.RFC3339), j.stepText()))
		}
	}
}

// endDeadline compares a job that has ended, or reached its target, with its deadline. A job that lacks many of the steps that it has
// named, has failed or was deleted has not met it.
func (n *Node) endDeadline(j *job) {
	if !j.hasDeadline() || j.follows() || j.lifetime.Deadline == deadline.Met {
		return
	}
	what, at := "reached its target", n.now
	if !j.targetReached() {
		what, at = "ended", j.lifetime.ended
		if j.cutShort || float64(j.counter.steps) < doneSteps*float64(j.latest.TotalSteps) {
			return
		}
	}
	late := at.Sub(j.deadline())
	if late > 0 && j.lifetime.Deadline == deadline.Missed && j.targetReached() {
		return
	}
	by := deadline.Rough(growth.Seconds(late.Abs().Seconds()))
	if late > 0 {
		j.lifetime.Deadline = deadline.Missed
		n.event(j, 0, true, "DeadlineMissed", fmt.Sprintf("The job %s %s after its deadline, %s", what, by, j.deadline().Format(time.RFC3339)))
		return
	}
	j.lifetime.Deadline = deadline.Met
	n.event(j, 0, false, "DeadlineMet", fmt.Sprintf("The job %s %s before its deadline, %s", what, by, j.deadline().Format(time.RFC3339)))
}

// deadlineStatus returns what is known about the job's deadline; nil if it has none.
func (n *Node) deadlineStatus(j *job) *bus.Deadline {
	if !j.hasDeadline() {
		return nil
	}
	d := &bus.Deadline{At: j.deadline(), Left: n.left(j.deadline()), Status: deadline.Unknown}
	switch {
	case j.lifetime.Deadline == deadline.Met || j.lifetime.Deadline == deadline.Missed:
		d.Status = j.lifetime.Deadline
	case j.late.by != nil:
		d.Status, d.LateBy = j.late.status, j.late.by
		if f := n.forecast(j); j.endsByTarget(f) {
			d.ToTarget = &f.toTarget
		}
		if d.Status == deadline.AtRisk {
			d.GiveWay = j.late.give
		}
	}
	return d
}
