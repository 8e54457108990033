package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// priority returns the factor of the job's weight in fair sharing.
func (j *job) priority() gpushare.Priority {
	if j.spec.Priority > 0 {
		return j.spec.Priority
	}
	return gpushare.ClassPriority(j.pod.Priority)
}

// priorityText says that the job's weight in fair sharing is not that of other jobs, and why. It is empty otherwise.
func (n *Node) priorityText(j *job) string {
	p := j.priority()
	switch {
	case p == 1:
		return ""
	case n.config.Policy != policy.Harmless && j.spec.Priority > 0:
		return fmt.Sprintf(". The policy %s ignores %s, only harmless weighs jobs", n.config.Policy, gpushare.PriorityAnnotation)
	case n.config.Policy != policy.Harmless:
		return ""
	}
	from := gpushare.PriorityAnnotation
	if j.spec.Priority == 0 {
		from = fmt.Sprintf("the value %d of its PriorityClass", j.pod.Priority)
	}
	return fmt.Sprintf(". In fair sharing it counts %.3g times, by %s", p, from)
}
