package node

import (
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// minGain is the smallest difference from plain sharing for which jobs start to take turns. With less than half of it
// they stop again.
const minGain growth.Share = 0.02

// decideGPUs divides the time of each group of GPUs among the jobs on them. It returns the time until the next decision.
func (n *Node) decideGPUs(why string, rearranged bool) time.Duration {
	next := maxDelay
	n.groups = nil
	n.endTrial()
	if n.dividesGPUs() {
		n.groups = connect(n.gpuJobs())
		n.fair = fairfinish.State{}
		next = n.divideGroups(why, rearranged)
		if n.startTrial() {
			next = min(next, n.config.Interval)
		}
	}
	n.gpuFinished = nil
	n.sendTurns()
	return next
}

func (n *Node) divideGroups(why string, rearranged bool) time.Duration {
	next, interval := maxDelay, time.Duration(0)
	fair := fairfinish.State{At: n.now, Accounts: map[growth.PodUID]fairfinish.Account{}}
	for i := range n.groups {
		g := &n.groups[i]
		g.blocker, g.because = n.holdAlways(g)
		var d division
		switch n.config.Policy {
		case policy.Harmless:
			var state fairfinish.State
			state, d = n.harmlessOnGPUs(*g, why != "interval")
			for id, a := range state.Accounts {
				fair.Accounts[id] = a
			}
		case policy.QoreDL:
			d = n.qoreDLOnGPUs(*g)
		default:
			d = n.flowConOnGPUs(*g, why != "interval", rearranged)
			interval = max(interval, d.next)
		}
		if len(g.jobs) > 1 {
			next = min(next, d.next)
		}
		n.grantGroup(g, d, why)
	}
	if n.config.Policy == policy.Harmless {
		n.keepPaused(fair)
		n.gpuFair = fair
	} else if interval > 0 {
		n.interval = interval
	}
	return next
}

// harmlessOnGPUs applies policy.Harmless to the time of a group of GPUs.
func (n *Node) harmlessOnGPUs(g gpuGroup, interrupted bool) (fairfinish.State, division) {
	claims := make([]claim, len(g.jobs))
	speedups := n.speedups(g)
	before, absent := n.fairOf(g)
	for i, j := range g.jobs {
		c := n.claim(j.job)
		c.in.Speedup = speedups[j.gpus[0]]
		c.in.Overlap = n.overlap(g, j, before, c.in.Speedup)
		c.share = j.gpu.share
		c.in.Used = growth.Work(j.gpu.used)
		c.in.CPUWait, c.in.CPUWaitKnown = j.gpu.waited, !j.gpu.metered
		c.in.On = j.gpus
		// Jobs of equal priority have equal parts of the time of their GPUs, and a job on several GPUs does as much work on each.
		c.in.Weight = float64(len(j.gpus)) * float64(j.priority())
		c.in.Limit = growth.MilliCPU(float64(len(j.gpus)) * float64(j.limit()) * float64(growth.Core))
		claims[i] = c
	}
	state, d := n.divideFairly(n.config.fairFinishOn(len(g.gpus)), before, claims, absent, interrupted)
	for i, j := range g.jobs {
		d.grants[i].inputs.onGPU(j.gpu)
	}
	return state, d
}

// fairOf returns the part of the state of fair sharing that belongs to a group, and its jobs that are paused or have ended.
func (n *Node) fairOf(g gpuGroup) (fairfinish.State, []fairfinish.Job) {
	s := fairfinish.State{At: n.gpuFair.At, Accounts: map[growth.PodUID]fairfinish.Account{}}
	for id, a := range n.gpuFair.Accounts {
		if len(a.On) > 0 && slices.Contains(g.gpus, a.On[0]) {
			s.Accounts[id] = a
		}
	}
	var absent []fairfinish.Job
	for _, j := range append(n.pausedOnGPUs(), n.gpuFinished...) {
		if a, known := s.Accounts[j.ID]; known {
			j.On, j.Limit = a.On, growth.MilliCPU(len(a.On))*growth.Core
			absent = append(absent, j)
		}
	}
	return s, absent
}

// flowConOnGPUs applies one of the policies of package flowcon to the time of a group of GPUs.
func (n *Node) flowConOnGPUs(g gpuGroup, interrupted, rearranged bool) division {
	in := flowcon.Input{Interrupted: interrupted, Interval: n.interval}
	if rearranged {
		in.Interval = n.config.Interval
	}
	for _, j := range g.jobs {
		f := n.flowConJob(j.leader())
		f.ID = j.pod.Ref.UID
		f.Weight, f.Share, f.Changed = j.gpu.weight, j.gpu.share, j.gpu.changed
		in.Jobs = append(in.Jobs, f)
	}
	decision := flowcon.Decide(n.config.Policy, n.config.flowCon(), n.now, in)
	d := division{next: decision.Interval}
	weights := make([]float64, len(g.jobs))
	for i, grant := range decision.Grants {
		weights[i] = float64(grant.Share)
		if g.jobs[i].always > 0 {
			weights[i] = 1e6 // it takes its limit, and not what the policy gives it
		}
	}
	shares := fairfinish.LimitedTimeShares(weights, g.limits(), g.placement())
	for i, granted := range decision.Grants {
		inputs := g.jobs[i].inputs()
		inputs.onGPU(g.jobs[i].gpu)
		d.grants = append(d.grants, grant{
			category: granted.Category,
			weight:   granted.Weight,
			share:    shares[i],
			reason:   granted.Reason,
			inputs:   inputs,
		})
	}
	return d
}

// grantGroup applies a decision to the jobs of a group, and decides whether they take turns.
func (n *Node) grantGroup(g *gpuGroup, d division, why string) {
	plain := g.plainShares()
	gain, paused, bounded := growth.Share(0), false, false
	for i, j := range g.jobs {
		bounded = bounded || j.bound() < 1 && j.always == 0
		gain = max(gain, growth.Share(math.Abs(float64(d.grants[i].share-plain[i]))))
		paused = paused || j.gpu.paused
	}
	g.gains = len(g.jobs) > 1 && g.because == "" && (bounded || gain >= minGain || paused && gain >= minGain/2)
	for i, j := range g.jobs {
		grant := d.grants[i]
		if j.always > 0 {
			grant.share, grant.reason = j.always, "it is never paused, and this is the part that the driver measures"
		}
		if g.because != "" {
			grant.share = plain[i]
			grant.reason = "the jobs on these GPUs are not paused: " + g.because
		}
		n.grantGPU(j, grant, why)
		j.gpu.plain = plain[i]
	}
	n.chooseTurns(g)
	n.reportGroup(*g)
}

// chooseTurns decides whether the jobs of a group take turns, all or as sets, or compute at the same time.
func (n *Node) chooseTurns(g *gpuGroup) {
	n.endReclock(*g)
	pays, together := n.chooseSets(g)
	defer func() { n.logTurns(*g) }()
	g.clocking = together && g.gains && n.reclock(g)
	g.together, g.probed = together && !g.clocking, false
	g.turns = (g.gains || pays) && !g.together
	if g.turns && !g.clocking && n.probePlain(g) {
		g.probed, g.turns = true, false
	}
	if g.clocking {
		for _, j := range g.jobs {
			j.gpu.set, j.gpu.speed = 0, 1
		}
	}
	for _, j := range g.jobs {
		j.gpu.part = g.partOf(j)
	}
}

// grantGPU applies a decision to one job.
func (n *Node) grantGPU(j gpuJob, g grant, why string) {
	t := &j.gpu
	step, _ := t.cost.perStep()
	n.log(Info, "GPU time decided", "job", j.pod.Ref, "policy", n.config.Policy, "because", why, "from", t.share, "to", g.share,
		"reason", g.reason, "step", g.inputs.Step, "stepCost", step, "used", t.used, "left", g.inputs.Remaining.Likely)
	t.decisions.Add(Decision{
		At:      n.now,
		Policy:  n.config.Policy,
		Because: why,
		Inputs:  g.inputs,
		From:    t.share,
		To:      g.share,
		Reason:  g.reason,
	})
	if math.Abs(float64(g.share-t.share)) > 1e-9 {
		t.changed = n.now
	}
	t.share, t.weight = g.share, g.weight
	if g.category == j.category {
		return
	}
	for _, pod := range j.pods { // only flowcon-literal changes categories
		n.categorise(pod, g.category, g.reason)
	}
	n.interrupted = "" // this decision has used the new category
}
