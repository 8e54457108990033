package node

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// sendTurns sends the division of the GPUs' time if it differs from the last one.
func (n *Node) sendTurns() {
	plan := n.turnPlan()
	if plan.equal(n.turns) {
		return
	}
	n.turns = plan
	n.out.Turns = &plan
}

// turnPlan returns the last decision about the GPUs, without jobs that have left since.
func (n *Node) turnPlan() TurnPlan {
	var plan TurnPlan
	for _, g := range n.groups {
		group := TurnGroup{GPUs: g.gpus}
		for _, j := range g.jobs {
			if n.jobs[j.pod.Ref.UID] != j.job || j.pod.Ended() {
				continue
			}
			var slots []string
			for _, pod := range j.pods {
				slots = append(slots, n.Slots(pod.pod.Ref.UID)...)
			}
			group.Jobs = append(group.Jobs, TurnJob{
				Pod:    j.pod.Ref.UID,
				GPUs:   j.gpus,
				Slots:  slots,
				Share:  g.turnShare(j),
				Always: n.spans(j) || j.always > 0,
				Freeze: n.freezes(j),
				Set:    j.gpu.set,
				Speed:  j.gpu.speed,
			})
		}
		if len(group.Jobs) > 0 {
			group.Open = len(group.Jobs) > 1 && !g.turns
			plan.Groups = append(plan.Groups, group)
		}
	}
	return plan
}

func (p TurnPlan) equal(q TurnPlan) bool {
	return slices.EqualFunc(p.Groups, q.Groups, func(a, b TurnGroup) bool {
		return a.Open == b.Open && slices.Equal(a.GPUs, b.GPUs) && slices.EqualFunc(a.Jobs, b.Jobs, TurnJob.equal)
	})
}

func (j TurnJob) equal(k TurnJob) bool {
	return j.Pod == k.Pod && j.Share == k.Share && j.Always == k.Always && j.Freeze == k.Freeze &&
		j.Set == k.Set && j.Speed == k.Speed &&
		slices.Equal(j.GPUs, k.GPUs) && slices.Equal(j.Slots, k.Slots)
}

// spans reports whether a job has processes that do not report here: they run on other nodes, or do not call the shim.
func (n *Node) spans(j gpuJob) bool {
	here, all := 0, 0
	for _, pod := range j.pods {
		here += pod.settings.processes()
		all = max(all, pod.settings.worldSize())
	}
	return all > here
}

// logTurns logs how the jobs of a group compute, and why.
func (n *Node) logTurns(g gpuGroup) {
	if len(g.jobs) < 2 {
		return
	}
	sets := map[growth.PodUID]int{}
	for _, j := range g.jobs {
		if j.gpu.set != 0 {
			sets[j.pod.Ref.UID] = j.gpu.set
		}
	}
	n.log(Info, "turns chosen", "gpus", g.gpus, "jobs", len(g.jobs), "turns", g.turns, "gains", g.gains, "because", g.because,
		"together", g.together, "probed", g.probed, "clocking", g.clocking, "clocked", g.clockedJobs(), "sets", sets)
}
