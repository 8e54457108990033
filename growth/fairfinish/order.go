package fairfinish

import (
	"cmp"
	"slices"
)

// sort puts the jobs in the order in which the slack is offered to them.
func (t *table) sort() {
	index := make([]float64, len(t.jobs))
	for i := range t.jobs {
		index[i] = t.index(i)
	}
	slices.SortFunc(t.order, func(i, j int) int {
		return cmp.Or(cmp.Compare(index[j], index[i]), cmp.Compare(t.finish[i], t.finish[j]), cmp.Compare(t.jobs[i].ID, t.jobs[j].ID))
	})
}

// index is the greatest reward per core-second that a job can still earn. A good metric is worth the objective, the end
// the rest; up to the end it earns both. It is Gittins' index of a job with two milestones, which for one core and no
// deadlines minimises the weighted sum of the times at which they are reached.
func (t *table) index(job int) float64 {
	o, weight, left := float64(t.config.Objective), t.accounts[job].Weight, max(t.left(job), dust)
	need := t.need(job)
	if need <= 0 {
		return weight * (1 - o) / left
	}
	return weight * max(o/need, 1/left)
}
