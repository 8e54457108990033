package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func (e SamplesRestored) apply(n *Node) {
	for _, s := range e.Samples {
		n.pastSamples[s.Pod.UID] = s
	}
	for _, j := range n.sorted() {
		if _, known := n.pastSamples[j.pod.Ref.UID]; known && j.reading.Samples == 0 {
			n.resume(j)
			n.deliver(j) // the sample has the duty in force
			n.interrupt("resumed", false)
		}
	}
}

// resume restores a job's state from its last sample, or from that of the pod from which it has moved. Without a sample it restores
// only the category, from the pod's annotation.
func (n *Node) resume(j *job) {
	category := growth.Category(j.pod.Annotations[gpushare.CategoryAnnotation])
	history := efficiency.State{Category: category}
	s, known := n.pastSamples[j.pod.Ref.UID]
	resume := n.resumeJob
	if origin, moved := n.origins[j.pod.Ref.UID]; moved && s.Step == 0 { // it has not reported a step here yet
		s, known, resume = origin, true, n.resumeMoved
	}
	if known {
		delete(n.pastSamples, j.pod.Ref.UID)
		state, err := stateOf(s)
		if err != nil {
			n.log(Warn, "a job continues without the state in its sample", "job", j.pod.Ref, "err", err.Error())
			state = jobState{}
		}
		if state.History != nil && s.Metric == j.spec.Metric {
			history = *state.History
		}
		category = s.Category
		resume(j, s, state)
	}
	if !category.Valid() {
		return
	}
	if !history.Category.Valid() {
		history.Category = category
	}
	j.tracker = efficiency.Resume(n.config.efficiency(), j.spec.Direction, history)
	j.category = category
	j.reading = efficiency.Reading{Samples: history.Samples, Growth: history.Growth, Category: category}
}

func (n *Node) resumeJob(j *job, s bus.Sample, state jobState) {
	uid := j.pod.Ref.UID
	j.refusal = n.pastRefusals[uid]
	delete(n.pastRefusals, uid)
	j.share, j.weight = s.Share, float64(s.Share)
	j.latest = wire.Progress{Step: s.Step, Epoch: s.Epoch, TotalSteps: s.TotalSteps}
	j.value, j.reported = s.Value, s.Reported
	j.running = wire.Values{Loaders: s.Loaders, BatchSize: s.BatchSize}
	j.sent, j.applied = s.Generation, s.Applied
	if s.Profile != nil {
		j.profile.use = s.Profile.Valid()
		j.profile.started = s.Step > 0
	}
	if s.Model != nil {
		j.profile.model = s.Model.Valid()
	}
	if state.Lifetime != nil {
		j.lifetime.totals = *state.Lifetime
	}
	if j.lifetime.Resizes > 0 {
		j.shareReport.resume(j.pod.Total(j.pod.Requests()), n.now)
	}
	if state.Work != nil {
		n.resumeWork(j, *state.Work)
	}
	j.pause.resume(s.Paused)
	j.save.last = s.Checkpoint
	j.endDuty(s.Duty)
	j.resumeGPU(s.GPUTime, state.Work)
	n.resumeTrial(j, state.Trial)
	j.batch.resume(s.Batch)
	j.stepOffset = s.Step
	j.counter = stepCounter{steps: s.Step, last: j.latest}
	j.counter.resume(j.curve)
}

func (n *Node) resumeWork(j *job, w workState) {
	j.cost.resume(w.Start, w.StepCost, w.StepSpread)
	if w.Curve != nil {
		j.curve = *w.Curve
	}
	if n.config.Policy != policy.Harmless {
		return
	}
	resumeAccount(&n.fair, w.Fair, j.pod.Ref.UID)
	if w.GPU != nil {
		resumeAccount(&n.gpuFair, w.GPU.Fair, j.pod.Ref.UID)
	}
}

// resumeAccount restores the account of one job.
func resumeAccount(into, from *fairfinish.State, uid growth.PodUID) {
	if from == nil {
		return
	}
	account, ok := from.Accounts[uid]
	if !ok {
		return
	}
	if len(into.Accounts) == 0 {
		*into = fairfinish.State{At: from.At, Accounts: map[growth.PodUID]fairfinish.Account{}}
	}
	into.Accounts[uid] = account
}
