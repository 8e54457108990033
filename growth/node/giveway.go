package node

import (
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// askOthers computes what would have to happen for a job at risk to end before its deadline. The answer stays for deadlinePeriod,
// because it costs as much as several decisions.
func (n *Node) askOthers(j *job, e estimate) {
	if !e.byPolicy || len(e.jobs) > maxExpected || j.late.give != nil && n.now.Sub(j.late.asked) < deadlinePeriod {
		return
	}
	j.late.asked = n.now
	give := fairfinish.GiveWay(e.config, e.state, e.jobs, j.identity().pod.Ref.UID)
	j.late.give = &bus.GiveWay{Lacking: give.Lacking, Unit: e.config.Unit, Pause: give.Pause}
	for _, way := range give.Ways {
		if other := n.jobs[way.ID]; other != nil {
			j.late.give.Jobs = append(j.late.give.Jobs, bus.Giving{Pod: other.pod.Ref, Work: way.Work, Part: way.Part})
		}
	}
}

// giveWayText says what would have to happen for the job to end before its deadline.
func (n *Node) giveWayText(j *job, e estimate) string {
	switch {
	case !n.dividesGPUs() && !j.tunable():
		return "No job can give way for it, because its CPU is not tuned: " + j.fixed()
	case n.config.Policy == policy.QoreDL:
		return "The policy qore-dl lets late jobs grow, at the expense of others where the load is high"
	case n.config.Policy != policy.Harmless:
		return "The jobs do not give way for deadlines; under the policy harmless those do that can without harm"
	case !e.byPolicy:
		return "The jobs compute at the same time, and do not give way for deadlines"
	case j.late.give == nil:
		return fmt.Sprintf("The node has more than %d jobs, too many to find those that would have to give way", maxExpected)
	}
	return GiveWayText(*j.late.give, func(pod growth.PodRef) string {
		if pod.Namespace == j.pod.Ref.Namespace {
			return pod.Name
		}
		return "a job of another namespace" // whose name the user of this one may not know
	})
}

// GiveWayText words what would have to happen for a job to end before its deadline. name returns what to call another job.
func GiveWayText(g bus.GiveWay, name func(growth.PodRef) string) string {
	if g.Lacking < 0.5 {
		return "The slack suffices for it, as far as is known now"
	}
	text := fmt.Sprintf("It lacks %.0f %s", float64(g.Lacking), g.Unit)
	if len(g.Jobs) == 0 {
		return text + ". No jobs of this node could give that, not even paused until then"
	}
	var others []string
	for _, other := range g.Jobs[:min(len(g.Jobs), maxNamed)] {
		others = append(others, fmt.Sprintf("%s %.0f (%s)", name(other.Pod), float64(other.Work), partText(other.Part, g.Unit)))
	}
	list := strings.Join(others, ", ")
	if more := len(g.Jobs) - maxNamed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if g.Pause {
		return text + ", and the other jobs cannot give that within the bound of 5 % of their time. It would be in time if their users " +
			"paused these jobs until then: " + list
	}
	return text + ". Within the bound of 5 % of their time these jobs could give way, but would end later than under fair sharing: " + list
}

// partText words a part of the resource that a job would give until the deadline.
func partText(part growth.MilliCPU, unit growth.Unit) string {
	if unit == growth.GPUSecond {
		return growth.Share(part.Cores()).String() + " of a GPU"
	}
	return part.String() + " of CPU"
}
