package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// groupOf returns the group and the entry of a job at the last decision.
func (n *Node) groupOf(of *job) (gpuGroup, gpuJob, bool) {
	for _, g := range n.groups {
		for _, j := range g.jobs {
			if j.job == of.identity() {
				return g, j, true
			}
		}
	}
	return gpuGroup{}, gpuJob{}, false
}

// onGPU makes the inputs of a decision those of GPU time.
func (in *Inputs) onGPU(t gpuTime) {
	in.Unit, in.Used = growth.GPUSecond, t.rate
}

// gpuSample returns what a job's sample has about GPU time.
func (n *Node) gpuSample(j *job) *bus.GPUTime {
	t := j.identity().gpu
	if !n.dividesGPUs() || t.part == 0 {
		return nil
	}
	sample := &bus.GPUTime{
		Share:       t.part,
		Paused:      t.paused,
		Held:        t.seen.Held,
		Waited:      t.seen.Waited,
		Alone:       t.seen.Alone,
		Kept:        t.seen.Kept,
		Work:        growth.Work(t.used),
		HeldShare:   t.recent.held,
		WaitedShare: t.recent.waited,
		Measured:    t.recent.measured,
		InSets:      t.inSets,
	}
	if t.set != 0 && !n.onTrial(j.identity()) {
		sample.SetSpeed = t.speed
	}
	if g, self, ok := n.groupOf(j.identity()); ok {
		sample.Pace = n.pace(g, self)
	}
	return sample
}

// gpuState returns what was learned about a job's work on GPUs. It is nil if nothing was.
func (n *Node) gpuState(j *job) *gpuWork {
	uid := j.pod.Ref.UID
	account, known := n.gpuFair.Accounts[uid]
	if !known && j.gpu.cost.steps == 0 {
		return nil
	}
	w := gpuWork{Start: j.gpu.cost.start(), Exact: j.gpu.exact}
	w.StepCost, w.StepSpread = j.gpu.cost.perStep()
	if known {
		w.Fair = &fairfinish.State{At: n.gpuFair.At, Accounts: map[growth.PodUID]fairfinish.Account{uid: account}}
	}
	return &w
}

// resumeGPU continues with what an earlier coordinator has learned and decided.
func (j *job) resumeGPU(s *bus.GPUTime, w *workState) {
	if s != nil {
		j.gpu.share, j.gpu.part = s.Share, s.Share
		if s.Paused {
			j.gpu.report.resume(s.Share, j.arrived)
		}
	}
	if w != nil && w.GPU != nil {
		j.gpu.cost.resume(w.GPU.Start, w.GPU.StepCost, w.GPU.StepSpread)
		j.gpu.exact = w.GPU.Exact
	}
}
