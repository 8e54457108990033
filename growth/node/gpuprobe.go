package node

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// probeTime is how long the jobs of a GPU compute at the same time to be measured, probeLimit how long if their steps are so
// long that this is not enough.
const (
	probeTime  = 2500 * time.Millisecond
	probeLimit = 10 * time.Second
)

// probe is the last time at which the jobs of a group computed at the same time before they took turns.
type probe struct {
	jobs  []growth.PodUID
	began time.Time
	slow  bool // they are known to do no more than in turns
}

// probePlain reports whether the jobs of a group, which would take turns, should compute at the same time because nobody knows
// how fast they are so. Turns may be much slower than plain sharing, which only a measurement shows. It harms nobody: it is
// plain sharing. It waits until the speeds of two jobs alone are known.
func (n *Node) probePlain(g *gpuGroup) bool {
	p, clocked := probe{began: n.now}, 0
	for _, j := range g.jobs {
		p.jobs = append(p.jobs, j.pod.Ref.UID)
		if j.clocked() {
			clocked++
		}
	}
	last := n.probes[g.gpus[0]]
	probes := false
	switch {
	case !n.allConnected(*g) || last.slow && last.includes(p.jobs):
		return false
	case clocked < 2:
	case n.plainIsKnown(*g):
		p.slow = true
		n.probes[g.gpus[0]] = p
		return false
	case slices.Equal(last.jobs, p.jobs):
		if probes = n.now.Sub(last.began) < probeLimit; !probes {
			return false
		}
	default:
		probes = true
		n.probes[g.gpus[0]] = p
		n.log(Info, "jobs compute at the same time, to measure their speeds", "jobs", p.jobs, "gpus", g.gpus)
	}
	if due := n.now.Add(probeTime); n.probesDue.IsZero() || due.Before(n.probesDue) {
		n.probesDue = due
	}
	return probes
}

// endProbes lets jobs take turns, or not, as the probes say that are due. The policy divides the time at its own times.
func (n *Node) endProbes() {
	if n.probesDue.IsZero() || n.now.Before(n.probesDue) {
		return
	}
	n.probesDue = time.Time{}
	for _, j := range n.gpuJobs() {
		j.measureGPUCost()
	}
	for i := range n.groups {
		if g := &n.groups[i]; g.gains {
			n.chooseTurns(g)
		}
	}
	n.sendTurns()
	n.setWake()
}

// includes reports whether the jobs are among those of the probe. Some of them have no gaps for one another if all have none.
func (p probe) includes(jobs []growth.PodUID) bool {
	return !slices.ContainsFunc(jobs, func(id growth.PodUID) bool { return !slices.Contains(p.jobs, id) })
}

// plainIsKnown reports whether the speeds of all jobs of the group under plain sharing were measured, or can be predicted.
func (n *Node) plainIsKnown(g gpuGroup) bool {
	for _, same := range g.onSameGPUs() {
		for i, j := range same.jobs {
			others := make([]growth.PodUID, 0, len(same.jobs)-1)
			for k, other := range same.jobs {
				if k != i {
					others = append(others, other.pod.Ref.UID)
				}
			}
			kinds, _ := n.kinds(others)
			if _, known := n.speeds.Predict(j.interferes(), kinds); !known && j.clocked() && len(same.others) == 0 {
				return false
			}
		}
	}
	return true
}
