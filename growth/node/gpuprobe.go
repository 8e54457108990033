package node

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
)

// probeTime is how long the jobs of a GPU compute at the same time to be measured, probeLimit how long if their steps are so
// long that this is not enough.
const (
	probeTime  = 2500 * time.Millisecond
	probeLimit = 10 * time.Second
	// leastProbed is the time between two reports of steps, a second apart each, from which a probe says how much the jobs do.
	leastProbed = 1500 * time.Millisecond
	// confirmAfter is the time after which two jobs that did no more in their probe are measured once more. Something else may have slowed
	// the node down at that moment, and they might be alone on their GPU for long.
	confirmAfter = time.Minute
)

// probe is the last time at which the jobs of a group computed at the same time before they took turns.
type probe struct {
	jobs  []growth.PodUID
	began time.Time
	uses  []probeUse // of each job
	slow  bool       // they are known to do no more than in turns, since began
	again bool       // this is the second probe of two jobs
}

// probePlain reports whether the jobs of a group, which would take turns, should compute at the same time to be measured. Turns
// may be much slower than plain sharing. It starts once the speeds of two jobs alone are known.
func (n *Node) probePlain(g *gpuGroup) bool {
	p := g.newProbe(n.now)
	last := n.probes[g.gpus[0]]
	switch {
	case !n.allConnected(*g):
		return false
	case last.unconfirmed(p.jobs, n.now):
		p.again, last = true, probe{}
	case last.slow && last.includesTwo(p.jobs):
		return false
	case n.clockJobs(g):
		g.clocking = true
		return false
	case g.clockedJobs() < 2:
		n.awaitProbe(n.retryProbe(*g))
		return false
	}
	switch {
	case n.plainIsKnown(*g) && !p.again && !last.again:
		n.noteSlow(g, !n.plainGains(*g))
		return false
	case !slices.Equal(last.jobs, p.jobs):
		n.probes[g.gpus[0]] = p
		n.log(Info, "jobs compute at the same time, to measure their speeds", "jobs", p.jobs, "gpus", g.gpus, "again", p.again)
	case n.now.Sub(last.began) >= probeLimit:
		return false
	}
	n.probes[g.gpus[0]].follow(*g)
	if rate, known := n.probedRate(*g, last); known && n.noteSlow(g, rate <= 1+corun.Margin) {
		return false
	}
	n.awaitProbe(clockTime)
	return true
}

// noteSlow notes that the jobs of a group do no more at the same time than in turns, if they do not.
func (n *Node) noteSlow(g *gpuGroup, slow bool) bool {
	if slow {
		last := n.probes[g.gpus[0]]
		n.probes[g.gpus[0]] = probe{jobs: g.ids(), began: n.now, slow: true, again: last.again && slices.Equal(last.jobs, g.ids())}
	}
	return slow
}

// unconfirmed reports whether two jobs did no more in their first probe, a while ago.
func (p probe) unconfirmed(jobs []growth.PodUID, now time.Time) bool {
	return p.slow && !p.again && len(jobs) == 2 && slices.Equal(p.jobs, jobs) && now.Sub(p.began) >= confirmAfter
}

func (g gpuGroup) ids() (ids []growth.PodUID) {
	for _, j := range g.jobs {
		ids = append(ids, j.pod.Ref.UID)
	}
	return ids
}

// retryProbe returns the time until a group is looked at again that cannot be probed yet: soon if one of its jobs is new, and at
// the next interval if a job has had no turns for long.
func (n *Node) retryProbe(g gpuGroup) time.Duration {
	if slices.ContainsFunc(g.jobs, func(j gpuJob) bool { return n.now.Sub(j.arrived) < startTime }) {
		return probeTime
	}
	return n.config.Interval
}

func (n *Node) awaitProbe(d time.Duration) {
	if due := n.now.Add(d); n.probesDue.IsZero() || due.Before(n.probesDue) {
		n.probesDue = due
	}
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
		if g := &n.groups[i]; g.gains || g.probed || g.clocking {
			n.chooseTurns(g)
			n.reportGroup(*g)
		}
	}
	n.sendTurns()
	n.setWake()
}

// includesTwo reports whether at least two of the jobs are among those of the probe. They have no gaps for one another. Whether others
// have is found out by trials of pairs: a probe at each arrival would take time from jobs that are behind plain sharing at present,
// because they can wait, and that would then end late.
func (p probe) includesTwo(jobs []growth.PodUID) bool {
	seen := 0
	for _, id := range jobs {
		if slices.Contains(p.jobs, id) {
			seen++
		}
	}
	return seen >= 2
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

// plainGains reports whether the jobs on some GPUs of the group do more at the same time than one after the other. Turns of sets
// may be better still.
func (n *Node) plainGains(g gpuGroup) bool {
	return slices.ContainsFunc(g.onSameGPUs(), func(same sameGPUs) bool {
		jobs, _ := same.input()
		return corun.Plain(&n.speeds, jobs) > 1+corun.Margin
	})
}
