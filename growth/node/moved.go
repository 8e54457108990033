package node

import (
	"cmp"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func (e OriginsChanged) apply(n *Node) {
	n.origins = e.Origins
	for _, j := range n.sorted() {
		_, moved := n.origins[j.pod.Ref.UID]
		if !moved || j.hasMoved || j.latest.Step > 0 {
			continue // it is known already, or has begun without
		}
		n.resume(j)
		if j.pod.Annotations[gpushare.CategoryAnnotation] != string(j.category) {
			n.annotate(j.pod.Ref, gpushare.CategoryAnnotation, string(j.category))
		}
		n.interrupt("moved", false)
	}
}

// resumeMoved continues with what belongs to a job that has moved here, as it was on another node: its curve, its progress, its
// memory and its checkpoint. What that node gave it stays behind: the share, the account of fair sharing, the config.
//
// The step of its sample stays 0 until the job reports one, by which the mover knows that it has continued.
func (n *Node) resumeMoved(j *job, s bus.Sample, state jobState) {
	if s.Profile != nil {
		j.profile.use = s.Profile.Valid()
		j.profile.started = s.Step > 0
	}
	if s.Model != nil {
		j.profile.model = s.Model.Valid()
	}
	if l := state.Lifetime; l != nil {
		j.lifetime.totals = *l
		j.lifetime.Shared, j.lifetime.Held, j.lifetime.Resizes = 0, 0, 0 // of the other node's pool
		j.lifetime.GPUHeld, j.lifetime.GPUWaited = 0, 0
	}
	j.save.last, j.save.announced = s.Checkpoint, s.Checkpoint
	if state.Trial != nil {
		tried := state.Trial.Moved()
		n.resumeTrial(j, &tried)
	}
	j.batch.resume(s.Batch)
	j.restarted, j.hasMoved = true, true
	if state.Work != nil {
		j.cost.resumeElsewhere(state.Work.Start, state.Work.StepCost, state.Work.StepSpread)
		if w := state.Work.GPU; w != nil {
			j.gpu.cost.resumeElsewhere(w.Start, w.StepCost, w.StepSpread)
		}
	}
	n.resumeProgress(j, s, state)
}

// resumeProgress continues the curve of a job that has moved. Its first value then shows whether the job continues there too.
func (n *Node) resumeProgress(j *job, s bus.Sample, state jobState) {
	j.latest.TotalSteps = s.TotalSteps
	j.stepOffset = s.Step
	if s.Checkpoint != nil {
		j.stepOffset = cmp.Or(s.Checkpoint.Step, s.Step)
	}
	j.counter = stepCounter{steps: s.Step, last: wire.Progress{Step: s.Step, Epoch: s.Epoch}}
	j.value, j.reported = s.Value, s.Reported
	if s.Metric == j.spec.Metric && state.Work != nil && state.Work.Curve != nil {
		j.curve = *state.Work.Curve
		j.counter.resume(j.curve)
	}
	if len(j.curve.Points) > 0 {
		j.restartedBy = "it has moved here from node " + string(s.Node)
	}
}

// resumeElsewhere is resume for the cost of a step on another node. An interval here that contradicts it replaces it.
func (c *stepCost) resumeElsewhere(start, mean, spread growth.Work) {
	c.resume(start, mean, spread)
	c.borrowed, c.unconfirmed = c.steps, c.steps > 0
}
