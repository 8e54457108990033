package node

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// minCapacity is a lower bound of the CPU that is left for the jobs that share, however much other jobs use.
const minCapacity = growth.Core / 10

// harmless applies policy.Harmless. It keeps the state of package fairfinish between decisions.
func (n *Node) harmless(jobs []*job, originals []Requests, interrupted bool) division {
	in := make([]fairfinish.Job, len(jobs))
	forecasts, floors := make([]forecast, len(jobs)), make([]string, len(jobs))
	for i, j := range jobs {
		lead := j.leader()
		f := n.forecast(lead)
		forecasts[i], floors[i] = f, n.floorReason(lead, f)
		n.announceConverged(lead, f)
		in[i] = fairfinish.Job{
			ID:                j.pod.Ref.UID,
			Used:              growth.CoreSeconds(j.metered.CPU),
			CPUWait:           j.metered.Queued,
			CPUWaitKnown:      j.metered.QueuedKnown,
			Remaining:         f.remaining,
			ToTarget:          f.toTarget,
			TargetFromSimilar: f.complete,
			FloorOnly:         floors[i] != "",
			// Kubernetes divides a busy node in proportion to requests, so these are the weights of fair sharing.
			Weight: j.pod.Total(originals[i]).Cores(),
			Limit:  j.pod.Limit(),
		}
	}
	in = append(in, n.finished...)
	var decision fairfinish.Decision
	n.fair, decision = fairfinish.Decide(n.config.fairFinish(n.capacity()), n.fair, n.now, in)
	d := division{next: max(decision.Next, n.config.Damping.Dwell)}
	moved := growth.Share(0)
	for i, g := range decision.Grants {
		j, f := jobs[i], forecasts[i]
		inputs := j.inputs()
		inputs.Remaining, inputs.ToTarget, inputs.SimilarJobs = f.remaining, f.toTarget, f.similarJobs
		inputs.FairFinish, inputs.Overdue = finite(g.FairFinish), g.Overdue
		inputs.Limit = growth.MilliCPU(1000 * n.fair.Accounts[g.ID].Limit)
		moved = max(moved, growth.Share(math.Abs(float64(g.Share-j.share))))
		d.grants = append(d.grants, grant{
			category: j.category,
			weight:   float64(g.Share),
			share:    g.Share,
			reason:   withFloor(floors[i], g.Reason),
			inputs:   inputs,
		})
	}
	if !interrupted && moved < n.config.Damping.Deadband {
		for i, j := range jobs {
			d.grants[i].share = j.share
			d.grants[i].reason += fmt.Sprintf("; no share changes by %s, so all stay", n.config.Damping.Deadband)
		}
	}
	return d
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
