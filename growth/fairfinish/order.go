package fairfinish

import (
	"cmp"
	"math"
	"slices"
)

// sticky is how much more than the index of a job that is being served another's must be to take its place. Estimates
// shift a little with every decision, and a change of places costs both jobs what their caches held. A job whose metric is
// good gives way as before: kept in its place it would cost the others most of what the objective is after.
const hysteresis = 1.25

// surely is the power to which the objective is raised for a job whose need is foretold. That is off by a tenth, where one that
// is guessed from a beginning is off by half; what is worth waiting for is worth more if it comes when it is thought to. Balanced
// is 0.53 then, and finish and growth are what they are.
const similarExponent = 0.75

// sort puts the jobs in the order in which the slack is offered to them.
func (t *instance) sort() {
	index := make([]float64, len(t.jobs))
	for i, a := range t.accounts {
		index[i] = t.index(i)
		if a.GrantedCores > a.Limit/2 && t.toTarget(i) > 0 {
			index[i] *= hysteresis
		}
	}
	slices.SortFunc(t.order, func(i, j int) int {
		return cmp.Or(cmp.Compare(index[j], index[i]), cmp.Compare(t.finish[i], t.finish[j]), cmp.Compare(t.jobs[i].ID, t.jobs[j].ID))
	})
}

// index is the greatest reward per core-second that a job can still earn. A good metric is worth so much, the end the
// rest; up to the end it earns both. It is Gittins' index of a job with two milestones, which for one core and no
// deadlines minimises the weighted sum of the times at which they are reached.
func (t *instance) index(job int) float64 {
	o, weight, left := t.targetWeight(job), t.accounts[job].Weight, max(t.remaining(job), epsilon)
	need := t.toTarget(job)
	if need <= 0 {
		return weight * (1 - o) / left
	}
	return weight * max(o/need, 1/left)
}

// worth is what a good metric of a job is worth beside its end, 0 to 1.
func (t *instance) targetWeight(job int) float64 {
	if t.jobs[job].TargetFromSimilar {
		return math.Pow(float64(t.config.Objective), similarExponent)
	}
	return float64(t.config.Objective)
}
