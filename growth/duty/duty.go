// Package duty turns shares into GPU duties: the fraction of time in which a job may compute on a GPU that it shares.
// The step gate of the shim enforces the duty.
//
// On each GPU, the job with the largest share has a duty of 1. The duty of any other job is its share relative to the
// largest. Gates therefore never idle a GPU, and jobs with equal shares or with a GPU of their own are not gated. The
// duty of a job on several GPUs is the smallest of them, because its processes wait for one another.
//
//	duty(j) = min over the GPUs g of j:  share(j) / max share on g,  at least Min
//
// A duty that would change by less than MinChange stays. A duty that falls moves half of the way per decision, so that
// a short peak of another job's share does not stall a job. A duty that rises does so at once.
package duty

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// Min is the smallest duty. It bounds the slowdown of a step at 20.
	Min growth.Share = 0.05
	// MinChange is the smallest change that is made.
	MinChange growth.Share = 0.05
)

// Job is a job on shared GPUs.
type Job struct {
	Share growth.Share
	GPUs  []growth.GPU
	// Duty is the duty in force; 0 for a job without one, which is not gated.
	Duty growth.Share
}

// Decide returns the duty of each job, in the order of the input.
func Decide(jobs []Job) []growth.Share {
	largest := map[growth.GPU]growth.Share{}
	for _, j := range jobs {
		for _, gpu := range j.GPUs {
			largest[gpu] = max(largest[gpu], j.Share)
		}
	}
	duties := make([]growth.Share, len(jobs))
	for i, j := range jobs {
		goal := growth.Share(1)
		for _, gpu := range j.GPUs {
			if largest[gpu] > 0 {
				goal = min(goal, max(j.Share/largest[gpu], Min))
			}
		}
		duties[i] = approach(goal, j.Duty)
	}
	return duties
}

// approach returns the next duty on the way from the present one to the goal.
func approach(goal, now growth.Share) growth.Share {
	if now <= 0 || now > 1 {
		now = 1
	}
	if math.Abs(float64(goal-now)) < float64(MinChange) {
		if goal == 1 { // a duty within MinChange of 1 becomes 1
			return 1
		}
		return now
	}
	return max(goal, (goal+now)/2)
}
