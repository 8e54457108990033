package node

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
)

const (
	// firstReclock is the time after which the speeds alone of jobs that compute at the same time are measured again. It doubles each time,
	// until a new job comes.
	firstReclock = 20 * time.Second
	// reclockLimit bounds a measurement if their steps are long.
	reclockLimit = 5 * time.Second
)

// reclock reports whether jobs that do more at the same time should have turns for a moment, so that their speeds alone are measured
// again. The first measurement is short. If it was made in slow first steps of the jobs, or while others started, they only seem to do
// more, and while they compute at the same time nothing else would show that.
func (n *Node) reclock(g *gpuGroup) bool {
	c := n.clocks[g.gpus[0]]
	if c.wait == 0 {
		c.wait = firstReclock
	}
	if c.began.IsZero() { // they were known
		c.began = n.now
	}
	if c.before == nil && c.wait > firstReclock && g.hasNew(c.again) {
		c.began, c.wait = n.now, firstReclock
	}
	if left := c.wait - n.now.Sub(c.began); c.before == nil && left > 0 {
		n.clocks[g.gpus[0]] = c
		n.awaitProbe(left)
		return false
	}
	if c.before == nil {
		c.began, c.before = n.now, g.forgetClocks()
		n.log(Info, "jobs take turns, to measure their speeds alone again", "jobs", g.ids(), "gpus", g.gpus)
	}
	n.clocks[g.gpus[0]] = c
	n.awaitProbe(clockTime)
	return true
}

// forgetClocks lets the speeds alone of jobs be measured again. It returns the costs of their steps.
func (g gpuGroup) forgetClocks() map[growth.PodUID]stepCost {
	before := map[growth.PodUID]stepCost{}
	for _, j := range g.jobs {
		if j.clocked() {
			j.measureGPUCost()
			before[j.pod.Ref.UID] = j.gpu.cost
			j.gpu.exact = false
		}
	}
	return before
}

// endReclock ends a measurement once it is complete, or its time is up. Speeds next to others are relative to those alone, and are
// corrected with them.
func (n *Node) endReclock(g gpuGroup) {
	c := n.clocks[g.gpus[0]]
	if c.before == nil || n.now.Sub(c.began) < reclockLimit && g.waitsForClock(c) {
		return
	}
	was, is := map[corun.Kind]growth.Work{}, map[corun.Kind]growth.Work{} // the cost of a step
	for _, j := range g.jobs {
		before, measured := c.before[j.pod.Ref.UID]
		switch {
		case !measured:
		case j.clocked():
			if slices.Contains(c.again, j.pod.Ref.UID) { // only the first measurement may be of first steps
				j.gpu.cost.join(before)
			}
			then, _ := before.perStep()
			now, _ := j.gpu.cost.perStep()
			was[j.interferes()] += then
			is[j.interferes()] += now
			j.gpu.phase.stepCost = now
		default:
			before.skip(j.leader().counter.steps, j.gpu.reported)
			j.gpu.cost, j.gpu.exact = before, true
		}
	}
	since := c.began.Add(-c.wait)
	for kind := range is {
		n.speeds.Correct(kind, float64(is[kind]/was[kind]), since)
	}
	n.log(Info, "the speeds of jobs alone were measured again", "gpus", g.gpus, "costs", is, "before", was)
	n.clocks[g.gpus[0]] = clock{jobs: c.jobs, began: n.now, wait: 2 * c.wait, again: g.ids()}
}

// hasNew reports whether one of the jobs is none of those before.
func (g gpuGroup) hasNew(before []growth.PodUID) bool {
	return slices.ContainsFunc(g.ids(), func(id growth.PodUID) bool { return !slices.Contains(before, id) })
}

// waitsForClock reports whether a job is still to be measured again.
func (g gpuGroup) waitsForClock(c clock) bool {
	return slices.ContainsFunc(g.jobs, func(j gpuJob) bool {
		_, measured := c.before[j.pod.Ref.UID]
		return measured && !j.clocked()
	})
}
