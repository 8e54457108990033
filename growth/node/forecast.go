package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// forecast is the predicted work of a job.
type forecast struct {
	// left is the work to the job's end, need the work until its metric reaches its target.
	left, need remaining.Estimate
	// source names the similar jobs that need was predicted from. It is empty if need comes from the job's own curve.
	source string
	// complete means that those jobs have come as far as this one will.
	complete bool
}

func (e ForecastProvided) apply(n *Node) {
	if j := n.jobs[e.Pod]; j != nil {
		j.providedLeft, j.providedNeed = e.Left, e.Need
	}
}

func (e RunsProvided) apply(n *Node) {
	if j := n.jobs[e.Pod]; j != nil {
		j.providedRuns = e.Runs
	}
}

// forecast is a job's work, as provided or as the node predicts it.
func (n *Node) forecast(j *job) (f forecast) {
	if j.providedLeft == nil || j.providedNeed == nil {
		f = n.predict(j)
	}
	if j.providedLeft != nil {
		f.left = *j.providedLeft
	}
	if j.providedNeed != nil {
		f.need = *j.providedNeed
	}
	return f
}

// predict predicts a job's work from the total that the job has declared, from similar jobs and from its own curve.
func (n *Node) predict(j *job) (f forecast) {
	similar := n.similar(j)
	p, left := n.progress(j, similar)
	f.left = left
	curves := make([]remaining.Curve, len(similar))
	for i, r := range similar {
		curves[i] = r.Curve
	}
	var by []int
	f.need, by, f.complete = j.curve.WorkToTargetAmong(curves, j.spec.Direction, p)
	switch {
	case len(by) > 1:
		f.source = fmt.Sprintf("%s and %d more", similar[by[0]].Job, len(by)-1)
	case len(by) == 1:
		f.source = similar[by[0]].Job
	case !f.need.Known && p.Total > 0 && len(j.curve.Points) > 0: // a job without a metric has no target
		f.need = remaining.TypicalWorkToTarget(growth.CoreSeconds(p.Done)*p.StepCost, f.left)
	}
	return f
}
