package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// followTarget records that a job's metric has reached the target that its user has declared. The job has nothing left to
// gain, so a decision is due.
func (n *Node) followTarget(j *job) {
	target := j.spec.Target
	if !target.Declared() || j.targetReached() || j.follows() || !j.curve.Reached(target.Value, target.Direction) {
		return
	}
	j.lifetime.TargetReached = target.String()
	n.event(j, time.Minute, false, "TargetReached",
		fmt.Sprintf("%s is %.4g at %s: the job has reached its target, %s, and has nothing left to gain: %s. "+
			"A pod without gpushare/target keeps its normal claim", j.spec.Metric, j.value, j.stepText(), target, n.lostClaim(j)))
	n.interrupt("target reached", false)
}

// targetReached reports whether the job has reached the target that its user has declared. It stays so if the metric gets
// worse again.
func (j *job) targetReached() bool {
	return j.spec.Target.Declared() && j.lifetime.TargetReached == j.spec.Target.String()
}

// recheckTarget lets a job whose curve has lost its end reach its target again.
func (j *job) recheckTarget() {
	if target := j.spec.Target; !j.curve.Reached(target.Value, target.Direction) {
		j.lifetime.TargetReached = ""
		if j.lifetime.Deadline == deadline.Met {
			j.forgetDeadline()
		}
	}
}

// withTarget replaces the work to 95 % of the improvement by the work to the declared target, if it can be predicted.
func (j *job) withTarget(f forecast, p remaining.Progress) forecast {
	target := j.spec.Target
	if !target.Declared() {
		return f
	}
	work := remaining.Estimate{Known: true, Unit: p.Unit}
	if !j.targetReached() {
		work = j.curve.WorkToValue(target.Value, target.Direction, p)
	}
	if work.Known {
		f.toTarget, f.similarJobs, f.complete = work, "", false
	}
	return f
}
