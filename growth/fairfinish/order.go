package fairfinish

import (
	"cmp"
	"math"
	"slices"
)

// hysteresis is the factor by which another job's index must exceed that of the job being served to replace it.
// Estimates shift with every decision, and each replacement costs both jobs the contents of their caches. It does not
// apply to a job that has reached its target: keeping such a job would cost the others most of what the objective
// gains.
const hysteresis = 1.25

// similarExponent is the exponent of the objective for a job whose target is predicted by similar jobs. Such a
// prediction is off by about 10 %, one from the job's own beginning by about 50 %. The exponent turns balanced into
// 0.49 and leaves finish and growth as they are.
const similarExponent = 0.85

// sort orders the jobs by decreasing index. The slack is offered to them in this order.
func (t *instance) sort() {
	index := make([]float64, len(t.jobs))
	for i, a := range t.accounts {
		index[i] = t.index(i)
		if a.GrantedCores > a.Limit/2 && t.toTarget(i) > 0 {
			index[i] *= hysteresis
		}
	}
	slices.SortFunc(t.order, func(i, j int) int {
		return cmp.Or(
			cmp.Compare(index[j], index[i]),
			cmp.Compare(t.finish[i], t.finish[j]),
			cmp.Compare(t.jobs[i].ID, t.jobs[j].ID),
		)
	})
}

// index returns the largest reward per unit of work that the job can still earn. It is negative for a job that gives way
// to all others. Reaching the target earns the target
// weight, ending earns the rest. This is the Gittins index of a job with two milestones. On one core without deadlines
// it minimises the weighted sum of the times at which milestones are reached.
func (t *instance) index(job int) float64 {
	if t.jobs[job].FloorOnly {
		return -1
	}
	o := t.targetWeight(job)
	weight := t.accounts[job].Weight / t.accounts[job].width() // a job on several GPUs does not count several times
	remaining := max(t.predicted(job), epsilon)
	toTarget := t.toTarget(job)
	if toTarget <= 0 {
		return weight * (1 - o) / remaining
	}
	return weight * max(o/toTarget, 1/remaining)
}

// targetWeight returns the value of reaching the target relative to the value of both milestones, 0 to 1.
//
// A job on several GPUs delays the jobs on each of them, so its index is smaller by their number. With the same objective,
// jobs on one GPU would be served to their end before it reaches its target. The exponent turns balanced into 0.55 on two
// GPUs and into 0.66 on four.
func (t *instance) targetWeight(job int) float64 {
	exponent := 1 / math.Sqrt(t.accounts[job].width())
	if t.jobs[job].TargetFromSimilar {
		exponent *= similarExponent
	}
	return math.Pow(float64(t.config.Objective), exponent)
}
