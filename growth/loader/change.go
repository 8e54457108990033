package loader

import (
	"fmt"
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// ChangePolicy decides when a better allocation is worth a change.
type ChangePolicy struct {
	// RebuildTime is the time in which a job does not train while its DataLoader is rebuilt.
	RebuildTime growth.Seconds
	// PaybackFactor is the factor by which the gain over the jobs' remaining time must exceed the cost of rebuilding.
	PaybackFactor float64
	// MinGain is the smallest relative gain that justifies a change. Smaller gains are noise.
	MinGain growth.Share
	// Dwell is the minimum time between two changes of a job.
	Dwell time.Duration
}

// DefaultChangePolicy requires a gain of 3 % that repays two seconds of rebuilding three times, and changes a job at
// most twice a minute.
func DefaultChangePolicy() ChangePolicy {
	return ChangePolicy{
		RebuildTime:   2,
		PaybackFactor: 3,
		MinGain:       0.03,
		Dwell:         30 * time.Second,
	}
}

// Running is a running job with its workers.
type Running struct {
	Job
	// Loaders is the number of workers per device that the job runs with or was last advised to use.
	Loaders int
	// Advised is set if Loaders was advised. Otherwise the job chose it.
	Advised bool
	// Unchanged is the time since Loaders last changed.
	Unchanged time.Duration
	// Limit is the largest number of workers per device that fit in the job's shared memory; nil without a limit. The
	// Curve of a measured job ends there.
	Limit *int
	// Remaining is the predicted remaining time of the job.
	Remaining growth.Seconds
}

// Plan is the number of workers for each job of a node.
type Plan struct {
	Loaders Allocation
	// Before is the value of the present allocation, After the value of Loaders.
	Before, After float64
	// Reason explains the change, or why there is none.
	Reason string
}

// Divide divides budget cores among the jobs. It keeps the present allocation if a change is not worth its cost. A job
// without a Curve has not been measured; see assignUnmeasured.
func (p ChangePolicy) Divide(running []Running, budget int) Plan {
	jobs := make([]Job, len(running))
	present := Allocation{}
	for i, r := range running {
		jobs[i] = r.Job
		present[r.UID] = r.Loaders
	}
	cores := present.Cores(jobs)
	best, rest := p.assignUnmeasured(running, budget, cores > budget)
	keep := maps.Clone(present)
	maps.Copy(keep, best)
	maps.Copy(best, Allocate(measuredJobs(running), rest))
	plan := Plan{
		Loaders: best,
		Before:  present.Value(jobs),
		After:   best.Value(jobs),
	}
	// unchanged returns the plan that changes unmeasured jobs only.
	unchanged := func(reason string) Plan {
		if len(changedJobs(running, keep)) > 0 {
			reason = fmt.Sprintf("%d cores have no worker", budget-cores)
		}
		return Plan{
			Loaders: keep,
			Before:  plan.Before,
			After:   plan.Before,
			Reason:  reason,
		}
	}

	changed := changedJobs(running, best)
	if len(changed) == 0 {
		return unchanged("the present division is the best")
	}
	if cores > budget {
		plan.Reason = fmt.Sprintf("%d workers ran on a budget of %s", cores, countedCores(budget))
		return plan
	}
	for _, r := range changed {
		if r.Unchanged < p.Dwell {
			return unchanged(fmt.Sprintf("a job keeps its workers for at least %s", p.Dwell))
		}
	}
	gain, cost := p.gain(running, best), p.cost(changed)
	if plan.After < plan.Before*(1+float64(p.MinGain)) || gain <= p.PaybackFactor*cost {
		return unchanged(fmt.Sprintf("another division would gain %s, too little for a change", percent(plan)))
	}
	plan.Reason = fmt.Sprintf("the node gains %s", percent(plan))
	return plan
}

// DefaultLoaders is the number of workers per device for a job that cannot be measured. It is the common
// recommendation.
const DefaultLoaders = 4

// assignUnmeasured assigns workers to the jobs without a Curve and returns the cores that are left for the others.
//
// An unmeasured job keeps its workers. On an overloaded node it gets at most an equal part of the budget. A job that
// was advised to use fewer and does not report how long it waits for data gets the default number once cores are
// available: its original number is not known any more.
func (p ChangePolicy) assignUnmeasured(running []Running, budget int, overloaded bool) (assigned Allocation, rest int) {
	assigned = Allocation{}
	rest = budget
	for _, r := range running {
		if len(r.Curve) > 0 {
			continue
		}
		loaders, width := r.Loaders, max(1, r.Width)
		equalPart := max(0, budget) / len(running) / width
		switch {
		case overloaded:
			loaders = min(loaders, equalPart)
		case r.Advised && r.Unchanged >= p.Dwell:
			loaders = max(loaders, min(equalPart, DefaultLoaders, r.limit()))
		}
		assigned[r.UID] = loaders
		rest -= width * loaders
	}
	return assigned, rest
}

func measuredJobs(running []Running) []Job {
	var jobs []Job
	for _, r := range running {
		if len(r.Curve) > 0 {
			jobs = append(jobs, r.Job)
		}
	}
	return jobs
}

func changedJobs(running []Running, next Allocation) []Running {
	var changed []Running
	for _, r := range running {
		if next[r.UID] != r.Loaders {
			changed = append(changed, r)
		}
	}
	return changed
}

// gain returns the value that an allocation adds over the remaining time of the jobs.
func (p ChangePolicy) gain(running []Running, next Allocation) float64 {
	gain := 0.0
	for _, r := range running {
		gain += (r.Value(next[r.UID]) - r.Value(r.Loaders)) * max(0, float64(r.Remaining))
	}
	return gain
}

// cost returns the value that the changed jobs lose while they rebuild.
func (p ChangePolicy) cost(changed []Running) float64 {
	cost := 0.0
	for _, r := range changed {
		cost += r.Value(r.Loaders) * float64(p.RebuildTime)
	}
	return cost
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
