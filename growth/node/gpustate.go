package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// GPUExplanation explains a job's part of the time of its GPUs.
type GPUExplanation struct {
	GPUs  []growth.GPU `json:"gpus"`
	Share growth.Share `json:"share"`
	// Plain is the part that the job would have if all jobs computed at the same time.
	Plain growth.Share `json:"plainShare"`
	// Held and Waited are as in GPUUse. StepCost is the work of one step in GPU-seconds. It is uncertain if it was measured
	// only while others computed.
	Held      growth.Seconds `json:"heldSeconds"`
	Waited    growth.Seconds `json:"waitedSeconds"`
	StepCost  growth.Work    `json:"stepCostGPUSeconds,omitempty"`
	Uncertain bool           `json:"uncertain,omitempty"`
	// Turns lists all jobs that take turns with the job, itself included. It is empty if the job is not paused.
	Turns []TurnOf `json:"turns,omitempty"`
	// Together lists the jobs that compute at the same time as the job, and Speed its measured speed next to them, relative to
	// computing alone. Both are empty if it holds the turn alone.
	Together []growth.PodRef `json:"together,omitempty"`
	Speed    float64         `json:"speed,omitempty"`
	// NotDivided is the reason why the jobs do not take turns. It is empty if they do.
	NotDivided string `json:"notDivided,omitempty"`
	// Decisions are the last decisions, newest last.
	Decisions DecisionLog `json:"decisions"`
}

// TurnOf is one job that takes turns.
type TurnOf struct {
	Pod   growth.PodRef  `json:"pod"`
	Share growth.Share   `json:"share"`
	Held  growth.Seconds `json:"heldSeconds"`
}

// explainGPU explains the GPU time of a job.
func (n *Node) explainGPU(of *job) *GPUExplanation {
	g, j, ok := n.groupOf(of)
	if !ok {
		return nil
	}
	t := j.gpu
	perStep, _ := t.cost.perStep()
	e := &GPUExplanation{
		GPUs:       j.gpus,
		Share:      t.share,
		Plain:      t.plain,
		Held:       t.seen.Held,
		Waited:     t.seen.Waited,
		StepCost:   perStep,
		Uncertain:  perStep > 0 && !t.exact,
		NotDivided: g.because,
		Decisions:  append(DecisionLog(nil), t.decisions...),
	}
	for _, mate := range g.mates(j) {
		e.Together = append(e.Together, mate.pod.Ref)
		e.Speed = t.speed
	}
	switch {
	case len(g.jobs) == 1:
		e.NotDivided = "no other job uses its GPUs"
	case g.turns:
		for _, other := range append([]gpuJob{j}, g.sharers(j)...) {
			e.Turns = append(e.Turns, TurnOf{Pod: other.pod.Ref, Share: other.gpu.share, Held: other.gpu.seen.Held})
		}
	case g.together:
		e.NotDivided = "all jobs do more at the same time than in turns"
	case g.because == "":
		e.NotDivided = "turns would not differ from equal parts"
	}
	return e
}

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
	if !n.dividesGPUs() || t.share == 0 {
		return nil
	}
	return &bus.GPUTime{
		Share:       t.share,
		Paused:      t.paused,
		Held:        t.seen.Held,
		Waited:      t.seen.Waited,
		Alone:       t.seen.Alone,
		Work:        growth.Work(t.used),
		HeldShare:   t.recent.held,
		WaitedShare: t.recent.waited,
		Measured:    t.recent.measured,
	}
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
		j.gpu.share = s.Share
		if s.Paused {
			j.gpu.report.resume(s.Share, j.arrived)
		}
	}
	if w != nil && w.GPU != nil {
		j.gpu.cost.resume(w.GPU.Start, w.GPU.StepCost, w.GPU.StepSpread)
		j.gpu.exact = w.GPU.Exact
	}
}
