// Package duty turns shares into GPU time: the part of the time in which each job that shares a GPU may compute, which
// the shim's step gate keeps it to.
//
// Of the jobs on one GPU the one with the greatest share computes all the time, and every other as much less as its
// share is less. So the GPU is never idle because of a gate alone, jobs with equal shares are not gated at all, and
// neither is a job that has its GPU to itself. A job on several GPUs keeps to the least of them, since its processes wait
// for one another.
//
// A gate that moves by little is left where it is. One that closes does so by half of the way at a time, so that no job is
// held up by a share that was great for a moment; one that opens opens at once.
package duty

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// Min is the smallest duty: a step is not to take more than twenty times as long.
	Min growth.Share = 0.05
	// MinChange is the smallest change that is made.
	MinChange growth.Share = 0.05
)

// Job is one job that shares.
type Job struct {
	Share growth.Share
	GPUs  []growth.GPU
	// Duty is the one in force; 0 for a job that has not been told any, which computes all the time.
	Duty growth.Share
}

// Decide returns the duty of each job, in their order.
func Decide(jobs []Job) []growth.Share {
	greatest := map[growth.GPU]growth.Share{}
	for _, j := range jobs {
		for _, gpu := range j.GPUs {
			greatest[gpu] = max(greatest[gpu], j.Share)
		}
	}
	duties := make([]growth.Share, len(jobs))
	for i, j := range jobs {
		goal := growth.Share(1)
		for _, gpu := range j.GPUs {
			if greatest[gpu] > 0 {
				goal = min(goal, max(j.Share/greatest[gpu], Min))
			}
		}
		duties[i] = approach(goal, j.Duty)
	}
	return duties
}

func approach(goal, now growth.Share) growth.Share {
	if now <= 0 || now > 1 {
		now = 1
	}
	if math.Abs(float64(goal-now)) < float64(MinChange) {
		if goal == 1 { // a gate that hardly holds is opened
			return 1
		}
		return now
	}
	return max(goal, (goal+now)/2)
}
