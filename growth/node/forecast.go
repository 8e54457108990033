package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// forecast is the predicted work of a job.
type forecast struct {
	// remaining is the work to the job's end, toTarget the work until its metric reaches its target.
	remaining, toTarget remaining.Estimate
	// doubtful is set while remaining rests on runs of other nodes, and no step of the job has been measured.
	doubtful bool
	// similarJobs names the jobs from which toTarget is predicted. It is empty if the prediction uses the job's own
	// curve.
	similarJobs string
	// from says which nodes the runs come from on which the prediction is based: those of similarJobs, or the one with
	// the assumed cost of a step. It is empty if there is none.
	from string
	// complete is set if the curves of those jobs reach this job's end.
	complete bool
}

func (e ForecastProvided) apply(n *Node) {
	if j := n.jobs[e.Pod]; j != nil {
		j.providedRemaining, j.providedToTarget = e.Remaining, e.ToTarget
	}
}

// forecast returns a job's work: the provided values, and predictions for those that are not provided.
func (n *Node) forecast(j *job) (f forecast) {
	if j.providedRemaining == nil || j.providedToTarget == nil {
		f = n.predict(j)
	}
	if j.providedRemaining != nil {
		f.remaining, f.doubtful = *j.providedRemaining, false
	}
	if j.providedToTarget != nil {
		f.toTarget = *j.providedToTarget
	}
	return f
}

// predict predicts a job's work from the total that the job has declared, from similar jobs and from its own curve.
func (n *Node) predict(j *job) (f forecast) {
	similar := n.similar(j)
	p, left, profile := n.progress(j, similar)
	f.remaining, f.from = left, origin(profile)
	f.doubtful = j.costIn(n.unit()).unconfirmed || len(profile) > 0 && profile[0].remote
	curves := make([]remaining.Curve, len(similar))
	for i, r := range similar {
		curves[i] = r.Curve
	}
	var by []int
	f.toTarget, by, f.complete = j.curve.WorkToTargetAmong(curves, j.spec.Direction, p)
	if len(by) > 0 {
		used := make([]Run, len(by))
		for i, at := range by {
			used[i] = similar[at]
		}
		f.from = origin(used)
	}
	switch {
	case len(by) > 1:
		f.similarJobs = fmt.Sprintf("%s and %d more", similar[by[0]].Job, len(by)-1)
	case len(by) == 1:
		f.similarJobs = similar[by[0]].Job
	case !f.toTarget.Known && p.Total > 0 && len(j.curve.Points) > 0: // a job without a metric has no target
		f.toTarget = remaining.TypicalWorkToTarget(growth.Work(p.Done)*p.StepCost, f.remaining)
	}
	return j.withTarget(f, p)
}
