package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/policy"
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
	// HeldShare and WaitedShare are as in bus.GPUTime.
	HeldShare   growth.Share `json:"heldShare"`
	WaitedShare growth.Share `json:"waitedShare"`
	// Turns lists all jobs that take turns with the job, itself included, in the order of their turns. It is empty if the job
	// is not paused.
	Turns []TurnOf `json:"turns,omitempty"`
	// Together lists the jobs that compute at the same time as the job, and Speed its measured speed next to them, relative to
	// computing alone. Both are empty if it holds the turn alone.
	Together []growth.PodRef `json:"together,omitempty"`
	Speed    float64         `json:"speed,omitempty"`
	// NextTo has the job's speed next to each other job on the same GPUs.
	NextTo []NextTo `json:"nextTo,omitempty"`
	// NotDivided is the reason why the jobs do not take turns. It is empty if they do.
	NotDivided string `json:"notDivided,omitempty"`
	// Decisions are the last decisions, newest last.
	Decisions DecisionLog `json:"decisions"`
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
		GPUs:        j.gpus,
		Share:       t.part,
		Plain:       t.plain,
		Held:        t.seen.Held,
		Waited:      t.seen.Waited,
		HeldShare:   t.recent.held,
		WaitedShare: t.recent.waited,
		StepCost:    perStep,
		Uncertain:   perStep > 0 && !t.exact,
		NotDivided:  g.because,
		Decisions:   append(DecisionLog(nil), t.decisions...),
	}
	for _, mate := range g.mates(j) {
		e.Together = append(e.Together, mate.pod.Ref)
		e.Speed = t.speed
	}
	e.NextTo = n.nextTo(g, j)
	switch {
	case len(g.jobs) == 1:
		e.NotDivided = "no other job uses its GPUs"
	case g.turns:
		for _, other := range append([]gpuJob{j}, g.sharers(j)...) {
			e.Turns = append(e.Turns, other.turn())
		}
	case g.together:
		e.NotDivided = "all jobs do more at the same time than in turns"
	case g.because == "":
		e.NotDivided = "turns would not differ from equal parts"
	}
	return e
}

// whyNoGPU returns why a job has no part of the time of GPUs. It is empty for a job that has one.
func (n *Node) whyNoGPU(j *job) string {
	_, _, ok := n.groupOf(j)
	switch {
	case ok:
		return ""
	case n.config.GPUTime == policy.GPUTimeOff:
		return "--gpu-time is off on this node"
	case !n.dividesGPUs():
		return "the GPUs of this node are emulated and do not compute (--gpus=emulated:…,compute of the device plugin makes them compute)"
	case j.pod.Ended():
		return "its processes have ended"
	case len(n.gpus(j.pod.Ref.UID)) == 0:
		return "no GPU is allocated to it yet"
	}
	return "no decision has been made about it yet"
}
