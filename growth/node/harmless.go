package node

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// minCapacity is a lower bound of the CPU that is left for the jobs that share, however much other jobs use.
const minCapacity = growth.Core / 10

// claim is a job before a decision of policy.Harmless.
type claim struct {
	job      *job
	share    growth.Share // at present
	forecast forecast
	floor    string // as floorReason returns it
	in       fairfinish.Job
}

// claim returns what a job can claim, with the work that is left.
func (n *Node) claim(j *job) claim {
	lead := j.leader()
	f := n.forecast(lead)
	c := claim{job: j, forecast: f, floor: n.floorReason(lead, f)}
	n.announceConverged(lead, f)
	c.in = fairfinish.Job{
		ID:                j.pod.Ref.UID,
		Remaining:         f.remaining,
		ToTarget:          f.toTarget,
		TargetFromSimilar: f.complete,
		Doubtful:          f.doubtful,
		FloorOnly:         c.floor != "",
		Deadline:          lead.userDeadline(f),
	}
	return c
}

// harmless applies policy.Harmless to the CPU. It keeps the state of package fairfinish between decisions.
func (n *Node) harmless(jobs []*job, originals []Requests, interrupted bool) division {
	claims := make([]claim, len(jobs))
	for i, j := range jobs {
		c := n.claim(j)
		c.share = j.share
		c.in.Used = growth.Work(j.metered.CPU)
		c.in.CPUWait, c.in.CPUWaitKnown = j.metered.Queued, j.metered.QueuedKnown
		// Kubernetes divides a busy node in proportion to requests, so these are the weights of jobs with equal priority.
		c.in.Weight = j.pod.Total(originals[i]).Cores() * float64(j.priority())
		c.in.Limit = j.pod.Limit()
		claims[i] = c
	}
	var d division
	absent := append(n.pausedOnCPU(), n.finished...)
	n.fair, d = n.divideFairly(n.config.fairFinish(n.capacity()), n.fair, claims, absent, interrupted)
	return d
}

// divideFairly applies policy.Harmless to one resource. absent are jobs that are paused, or have ended since the last decision.
func (n *Node) divideFairly(
	c fairfinish.Config, before fairfinish.State, claims []claim, absent []fairfinish.Job, interrupted bool,
) (fairfinish.State, division) {
	in := make([]fairfinish.Job, len(claims))
	for i, claim := range claims {
		in[i] = claim.in
	}
	state, decision := fairfinish.Decide(c, before, n.now, append(in, absent...))
	d := division{next: max(decision.Next, n.config.Damping.Dwell)}
	moved := growth.Share(0)
	for i, g := range decision.Grants {
		claim := claims[i]
		f, inputs := claim.forecast, claim.job.inputs()
		inputs.Remaining, inputs.ToTarget = f.remaining, f.toTarget
		inputs.SimilarJobs, inputs.SimilarFrom = f.similarJobs, f.from
		inputs.FairFinish, inputs.Overdue = finite(g.FairFinish), g.Overdue
		inputs.Limit = growth.MilliCPU(1000 * state.Accounts[g.ID].Limit)
		moved = max(moved, growth.Share(math.Abs(float64(g.Share-claim.share))))
		d.grants = append(d.grants, grant{
			category: claim.job.category,
			weight:   float64(g.Share),
			share:    g.Share,
			reason:   withFloor(claim.floor, g.Reason),
			inputs:   inputs,
		})
	}
	if !interrupted && moved < n.config.Damping.Deadband {
		for i, claim := range claims {
			d.grants[i].share = claim.share
			d.grants[i].reason += fmt.Sprintf("; no share changes by %s, so all stay", n.config.Damping.Deadband)
		}
	}
	return state, d
}

// capacity returns the CPU for all jobs that share: the node's allocatable CPU minus the usage of other jobs.
func (n *Node) capacity() growth.MilliCPU {
	capacity := max(n.allocatable, growth.Core) - n.exclusiveCPU()
	for uid, j := range n.jobs {
		if !j.tunable() && n.exclusive[uid] == 0 {
			capacity -= j.used
		}
	}
	return max(capacity, minCapacity)
}

// finite replaces infinity and NaN, which JSON cannot represent, by 0.
func finite(s growth.Seconds) growth.Seconds {
	if math.IsInf(float64(s), 0) || math.IsNaN(float64(s)) {
		return 0
	}
	return s
}
