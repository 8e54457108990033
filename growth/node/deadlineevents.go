package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// deadlineText names the deadline of a job that arrives. It is empty if there is none.
func (n *Node) deadlineText(j *job) string {
	if !j.hasDeadline() {
		return ""
	}
	text := ". Its deadline is " + j.deadline().Format(time.RFC3339)
	if n.config.Policy != policy.Harmless {
		text += fmt.Sprintf("; the policy %s divides without regard to deadlines, only harmless serves them", n.config.Policy)
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

// giveWayText says what would have to happen for the job to end before its deadline.
func (n *Node) giveWayText(j *job, e estimate) string {
	switch {
	case n.config.Policy != policy.Harmless:
		return "The jobs do not give way for deadlines; under the policy harmless those do that can without harm"
	case !e.byPolicy:
		return "The jobs compute at the same time, and do not give way for deadlines"
	}
	lacking, ways := fairfinish.GiveWay(e.config, e.state, e.jobs, j.identity().pod.Ref.UID)
	if lacking < 0.5 {
		return "The slack suffices for it, as far as is known now"
	}
	text := fmt.Sprintf("It lacks %.0f %s", float64(lacking), e.config.Unit)
	if len(ways) == 0 {
		return text + ", and the other jobs cannot give that way within the bound of 5 % of their time"
	}
	var others []string
	for _, way := range ways {
		others = append(others, fmt.Sprintf("%s %.0f", n.nameFor(j, way.ID), float64(way.Work)))
	}
	return text + ". Within the bound of 5 % of their time these jobs could give way, but would end later than under fair sharing: " +
		strings.Join(others, ", ")
}

// nameFor returns the name of a job for the user of another one, who may not know the jobs of other namespaces.
func (n *Node) nameFor(j *job, id growth.PodUID) string {
	if other := n.jobs[id]; other != nil && other.pod.Ref.Namespace == j.pod.Ref.Namespace {
		return other.pod.Ref.Name
	}
	return "a job of another namespace"
}
