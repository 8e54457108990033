package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// floorReason returns why the job can claim only the least that the policy gives. It is empty for a job with its normal
// claim.
func (n *Node) floorReason(j *job, f forecast) string {
	if lost := j.tracker.NotFinite(); lost.Lasting {
		return fmt.Sprintf("%s is %s since step %d", j.spec.Metric, lost.Kinds(), lost.Since)
	}
	if j.targetReached() {
		return fmt.Sprintf("its target %s is reached", j.spec.Target)
	}
	if n.config.Converged == policy.ConvergedFloor && j.convergedWithoutSize(f) {
		return "it has converged and its size is unknown"
	}
	return ""
}

// nothingToGain reports whether the job can claim only the least under any policy.
func (j *job) nothingToGain() bool { return j.tracker.NotFinite().Lasting || j.targetReached() }

// convergedWithoutSize reports whether the job has converged and nothing predicts its end.
func (j *job) convergedWithoutSize(f forecast) bool {
	return j.category == growth.Converged && !fairfinish.Sized(f.remaining)
}

// lostClaim says what a job keeps that has nothing to gain: its metric is not finite, or has reached its target.
func (n *Node) lostClaim(j *job) string {
	switch {
	case n.dividesGPUs() && n.config.Policy == policy.Fair:
		return "its part of the GPU's time stays, because the policy is fair"
	case n.dividesGPUs():
		return "of the GPU's time it gets the least that the policy gives, and what no other job can use"
	case !j.tunable():
		return "its CPU request stays, because Trellis does not tune it"
	case n.config.Policy == policy.Fair:
		return "its CPU share stays, because the policy is fair"
	}
	return "of the node's pool it gets the least that the policy gives, and what no other job can use"
}

// withFloor adds the reason for a job's floor to the reason for its share.
func withFloor(floor, reason string) string {
	if floor == "" {
		return reason
	}
	return floor + ": " + reason
}

// announceConverged records once that a converged job keeps its fair share, and what would change that.
func (n *Node) announceConverged(j *job, f forecast) {
	if j.lifetime.ShareKept || !j.convergedWithoutSize(f) || n.floorReason(j, f) != "" {
		return
	}
	j.lifetime.ShareKept = true
	why := "Trellis does not know when it ends"
	change := "report its total number of steps (gpushare.step(total_steps=…), or a group named total in log:)"
	if j.latest.TotalSteps > 0 {
		why = fmt.Sprintf("it has not ended after the %d steps that it has named", j.latest.TotalSteps)
		change = "report the right total number of steps"
	}
	of := "the CPU"
	if n.dividesGPUs() {
		of = "the GPU's time"
	}
	n.event(j, oncePerJob, false, "ConvergedKeepsShare",
		fmt.Sprintf("The job has converged but keeps its fair share of %s: %s, and with less it could end later than under fair "+
			"sharing. To let it give way to growing jobs, %s, or create its pod with gpushare/target, the value that is enough. Once a run of "+
			"the program has ended, the end of the next one is predicted. --converged=floor of the coordinator takes the share from all such jobs",
			of, why, change))
}
