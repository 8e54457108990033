package loader

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// ChangePolicy decides when a better allocation is worth a change.
type ChangePolicy struct {
	// RebuildTime is the time in which a job does not train while its DataLoader is rebuilt, before that was measured.
	RebuildTime growth.Seconds
	// PaybackFactor is the factor by which the gain over the jobs' remaining time must exceed the cost of rebuilding.
	PaybackFactor float64
	// MinGain is the smallest relative gain that justifies a change. Smaller gains are noise.
	MinGain growth.Share
	// Dwell is the minimum time between two changes of a job.
	Dwell time.Duration
}

// DefaultChangePolicy requires a gain of 3 % that repays the rebuilding of the loaders three times, and changes a job at
// most twice a minute.
func DefaultChangePolicy() ChangePolicy {
	return ChangePolicy{
		RebuildTime:   4,
		PaybackFactor: 3,
		MinGain:       0.03,
		Dwell:         30 * time.Second,
	}
}

// Divide divides the budget of one node, or of nodes that jobs span, among their jobs. It keeps the present allocation if a
// change is not worth its cost. A job without a Curve has not been measured; see assignUnmeasured.
func (p ChangePolicy) Divide(nodes []RunningNode) Plan {
	jobs := jobsOf(nodes)
	present := Allocation{}
	for _, j := range jobs {
		for _, r := range j.pods {
			present[r.UID] = r.Loaders
		}
	}
	overload := overloads(nodes)
	best, rest := p.assignUnmeasured(nodes, jobs, overload)
	keep := maps.Clone(present)
	maps.Copy(keep, best)
	maps.Copy(best, allocateMeasured(jobs, rest))
	plan := Plan{
		Loaders: best,
		Before:  totalValue(jobs, present),
		After:   totalValue(jobs, best),
	}
	// unchanged returns the plan that changes unmeasured jobs only.
	unchanged := func(reason string) Plan {
		if len(changedJobs(jobs, keep)) > 0 {
			reason = fmt.Sprintf("%d cores have no worker", unused(nodes))
		}
		return Plan{
			Loaders: keep,
			Before:  plan.Before,
			After:   plan.Before,
			Reason:  reason,
		}
	}

	changed := changedJobs(jobs, best)
	if len(changed) == 0 {
		return unchanged("the present division is the best")
	}
	if len(overload) > 0 {
		plan.Reason = overload[slices.Min(slices.Collect(maps.Keys(overload)))]
		return plan
	}
	if slices.ContainsFunc(changed, func(j runningJob) bool { return j.unchanged() < p.Dwell }) {
		return unchanged(fmt.Sprintf("a job keeps its workers for at least %s", p.Dwell))
	}
	gain, cost := gainOf(jobs, present, best), p.cost(changed, present)
	if plan.After < plan.Before*(1+float64(p.MinGain)) || gain <= p.PaybackFactor*cost {
		return unchanged(fmt.Sprintf("another division would gain %s, too little for a change", percent(plan)))
	}
	plan.Reason = fmt.Sprintf("the node gains %s", percent(plan))
	if len(nodes) > 1 {
		plan.Reason = fmt.Sprintf("%d nodes together gain %s", len(nodes), percent(plan))
	}
	return plan
}

// gainOf returns the value that an allocation adds over the remaining time of the jobs.
func gainOf(jobs []runningJob, present, next Allocation) float64 {
	gain := 0.0
	for _, j := range jobs {
		gain += (j.value(next) - j.value(present)) * j.remaining()
	}
	return gain
}

// cost returns the value that the changed jobs lose while they rebuild.
func (p ChangePolicy) cost(changed []runningJob, present Allocation) float64 {
	cost := 0.0
	for _, j := range changed {
		cost += j.value(present) * float64(j.rebuildTime(p.RebuildTime))
	}
	return cost
}

// changedJobs returns the jobs of which a pod gets another number of workers.
func changedJobs(jobs []runningJob, next Allocation) []runningJob {
	var changed []runningJob
	for _, j := range jobs {
		if slices.ContainsFunc(j.pods, func(r podOnNode) bool { return next[r.UID] != r.Loaders }) {
			changed = append(changed, j)
		}
	}
	return changed
}

// overloads describes the nodes that run more workers than their budget.
func overloads(nodes []RunningNode) map[growth.NodeName]string {
	overload := map[growth.NodeName]string{}
	for _, n := range nodes {
		if cores := n.cores(); cores > n.Budget {
			overload[n.Name] = fmt.Sprintf("%d workers ran on a budget of %s", cores, countedCores(n.Budget))
		}
	}
	return overload
}

// unused returns the number of cores of the nodes that no worker uses.
func unused(nodes []RunningNode) int {
	cores := 0
	for _, n := range nodes {
		cores += max(0, n.Budget-n.cores())
	}
	return cores
}

func percent(p Plan) string {
	if p.Before <= 0 {
		return "everything"
	}
	return fmt.Sprintf("%.0f%%", 100*(p.After/p.Before-1))
}

func countedCores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}
