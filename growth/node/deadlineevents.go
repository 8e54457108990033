package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/deadline"
)

// deadlineText names the deadline of a job that arrives. It is empty if there is none.
func (n *Node) deadlineText(j *job) string {
	if !j.hasDeadline() {
		return ""
	}
	text := ". Its deadline is " + j.deadline().Format(time.RFC3339)
	if !servesDeadlines(n.config.Policy) {
		text += fmt.Sprintf("; the policy %s divides without regard to deadlines, only harmless and qore-dl serve them", n.config.Policy)
	}
	return text
}

// worthReporting reports whether a job is newly at risk, or by another time than the last event has named. It takes what an earlier
// coordinator has reported for the present degree.
func (n *Node) worthReporting(j *job) bool {
	if j.lifetime.Deadline != deadline.AtRisk {
		return true
	}
	if j.late.reported == (deadline.Degree{}) {
		j.late.reported = *j.late.by
	}
	return j.late.by.Moved(j.late.reported) && n.now.Sub(j.eventTimes["DeadlineAtRisk"]) >= deadlinePeriod
}

// reportDeadline records an event about a job's status, unless there was one of the same kind within deadlinePeriod. A change that lasts
// is then recorded later.
func (n *Node) reportDeadline(j *job, warning bool, reason, message string) {
	if n.now.Sub(j.eventTimes[reason]) < deadlinePeriod {
		return
	}
	j.lifetime.Deadline, j.late.reported = j.late.status, *j.late.by
	n.event(j, 0, warning, reason, message)
}
