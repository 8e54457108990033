package node

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// clockTime is how often the jobs of a GPU are looked at that take turns at first, so that their speeds alone are measured.
// probeLimit bounds this time if their steps are long.
const clockTime = time.Second

// clock is the last time at which the jobs of a group took turns so that their speeds alone were measured.
type clock struct {
	jobs  []growth.PodUID
	began time.Time
	wait  time.Duration   // from then until they are measured again, if they compute at the same time
	again []growth.PodUID // the jobs when they were last measured again
	// before has the cost of a step of each job whose speed alone is measured again at present, as it was measured before.
	before map[growth.PodUID]stepCost
}

// clockJobs reports whether each job of a group, which would take turns, should have some for a while, because the speeds alone
// of fewer than two of them are known. By the policy's shares most of them would hardly compute, and it would stay unknown for
// long that they do more at the same time.
func (n *Node) clockJobs(g *gpuGroup) bool {
	jobs, last := g.ids(), n.clocks[g.gpus[0]]
	began := slices.Equal(last.jobs, jobs)
	switch {
	case g.clockedJobs() == len(jobs), g.clockedJobs() >= 2 && !began:
		return false
	case !began:
		n.clocks[g.gpus[0]] = clock{jobs: jobs, began: n.now}
	case n.now.Sub(last.began) >= probeLimit:
		return false
	}
	n.awaitProbe(clockTime)
	return true
}

// turnShare returns the share of a job in turns. While its speed alone is measured, and it is not known yet what the jobs do at the
// same time, they have equal parts: by the policy's shares a job could get much less than plain sharing, and would never catch up.
func (g gpuGroup) turnShare(j gpuJob) growth.Share {
	if !g.clocking {
		return j.gpu.share
	}
	return min(j.gpu.plain, j.bound())
}

// partOf returns the part of its GPUs that a job has. Jobs that do not take turns have what plain sharing gives them, also if another
// part is decided.
func (g gpuGroup) partOf(j gpuJob) growth.Share {
	if g.turns {
		return g.turnShare(j)
	}
	return j.gpu.plain
}

// clockedJobs counts the jobs whose speeds alone are known.
func (g gpuGroup) clockedJobs() (clocked int) {
	for _, j := range g.jobs {
		if j.clocked() {
			clocked++
		}
	}
	return clocked
}
