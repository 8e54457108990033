package node

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// probeUse is what a job had done at a time of a probe. Steps are reported up to a second late: they are counted from the first report
// in the probe.
type probeUse struct {
	began growth.Seconds // held when the probe began
	at    time.Time      // of that report; zero before it
	steps int64
	held  growth.Seconds // up to that report
}

func (g gpuGroup) newProbe(now time.Time) probe {
	p := probe{jobs: g.ids(), began: now}
	for _, j := range g.jobs {
		p.uses = append(p.uses, probeUse{began: j.gpu.held})
	}
	return p
}

// follow notes the first report of each job in a probe.
func (p probe) follow(g gpuGroup) {
	if len(p.uses) != len(g.jobs) || !slices.Equal(p.jobs, g.ids()) {
		return
	}
	for i, j := range g.jobs {
		if use, at := &p.uses[i], j.leader().stepped; use.at.IsZero() && at.After(p.began) {
			use.at, use.steps, use.held = at, j.leader().counter.steps, j.gpu.heldReported
		}
	}
}

// probedRate returns the work per second of each GPU in a probe. It is known before the speeds of each job are: while jobs wait for
// data in a part of each step, other jobs compute at every moment. A job whose speed alone is not known is assumed to be slowed down
// as much as the others.
func (n *Node) probedRate(g gpuGroup, p probe) (rate float64, known bool) {
	elapsed := n.now.Sub(p.began)
	if elapsed < probeTime || len(p.uses) != len(g.jobs) || !slices.Equal(p.jobs, g.ids()) {
		return 0, false
	}
	var work, held, all float64 // per second
	for i, j := range g.jobs {
		if !slices.Equal(j.gpus, g.gpus) {
			return 0, false
		}
		use := p.uses[i]
		all += float64(j.gpu.held-use.began) / elapsed.Seconds()
		if !j.clocked() {
			continue
		}
		perStep, _ := j.gpu.cost.perStep()
		steps, span := j.leader().counter.steps-use.steps, j.leader().stepped.Sub(use.at)
		if use.at.IsZero() || steps < leastSteps || span < leastProbed {
			return 0, false
		}
		work += float64(steps) * float64(perStep) / float64(j.width()) / span.Seconds()
		held += float64(j.gpu.heldReported-use.held) / span.Seconds()
	}
	if held <= 0 {
		return 0, false
	}
	return work / held * all, true
}
