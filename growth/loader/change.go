package loader

import (
	"fmt"
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// ChangePolicy is when a better allocation is worth changing to.
type ChangePolicy struct {
	// RebuildTime is how long a job trains nothing while its DataLoader is rebuilt, Factor how many times a change must
	// repay that within the time the jobs have left.
	RebuildTime   growth.Seconds
	PaybackFactor float64
	// MinGain is the smallest part of the present value that a change must add: less is noise.
	MinGain growth.Share
	// Dwell is how long a job keeps what it has before it is changed again.
	Dwell time.Duration
}

// DefaultChangePolicy is the default: two seconds to rebuild, repaid three times, for 3 % or more, at most twice a minute.
func DefaultChangePolicy() ChangePolicy {
	return ChangePolicy{RebuildTime: 2, PaybackFactor: 3, MinGain: 0.03, Dwell: 30 * time.Second}
}

// Running is a job with what it runs with.
type Running struct {
	Job
	// Loaders is what it runs with now, or has been told to.
	Loaders int
	// Advised says that it has been told, and may have chosen another number itself.
	Advised bool
	// Unchanged is how long it has had that many.
	Unchanged time.Duration
	// Remaining is how long it will go on, as far as is known.
	Remaining growth.Seconds
}

// Plan is what a node's jobs should run with.
type Plan struct {
	Loaders Allocation
	// Before and After are the values of what runs now and of Loaders.
	Before, After float64
	// Reason says why it was changed, or why not.
	Reason string
}

// Divide divides budget cores, or leaves things as they are where a change is not worth its cost. Of a job without a Curve
// nothing is known yet: see unmeasured.
func (p ChangePolicy) Divide(running []Running, budget int) Plan {
	jobs, now := make([]Job, len(running)), Allocation{}
	for i, r := range running {
		jobs[i], now[r.UID] = r.Job, r.Loaders
	}
	cores := now.Cores(jobs)
	best, left := p.assignUnmeasured(running, budget, cores > budget)
	keep := maps.Clone(now)
	maps.Copy(keep, best)
	maps.Copy(best, Allocate(measuredJobs(running), left))
	plan := Plan{Loaders: best, Before: now.Value(jobs), After: best.Value(jobs)}
	stay := func(format string, args ...any) Plan {
		if len(changedJobs(running, keep)) > 0 {
			format, args = "%d cores have no worker", []any{budget - cores}
		}
		return Plan{Loaders: keep, Before: plan.Before, After: plan.Before, Reason: fmt.Sprintf(format, args...)}
	}

	changed := changedJobs(running, best)
	if len(changed) == 0 {
		return stay("the division is the best already")
	}
	if cores > budget {
		plan.Reason = fmt.Sprintf("%d workers ran on a budget of %s", cores, countedCores(budget))
		return plan
	}
	for _, r := range changed {
		if r.Unchanged < p.Dwell {
			return stay("a job keeps its workers for %s before they change again", p.Dwell)
		}
	}
	gain, cost := p.gain(running, best), p.cost(changed)
	if plan.After < plan.Before*(1+float64(p.MinGain)) || gain <= p.PaybackFactor*cost {
		return stay("another division would gain %s, too little to change", percent(plan))
	}
	plan.Reason = fmt.Sprintf("the node gains %s by it", percent(plan))
	return plan
}

// usual is how many workers a job is given of which nobody knows what they bring: what is commonly advised for a device.
const defaultLoaders = 4

// unmeasured divides among the jobs of which nothing is known, and returns what is left to the others. They keep their workers,
// on a node that runs too many an equal part of the budget at most. Who was told to run with fewer than that, and does not tell
// how long it waits for data, is given as many when there are cores again: its own number is not known any more.
func (p ChangePolicy) assignUnmeasured(running []Running, budget int, crowded bool) (given Allocation, left int) {
	given, left = Allocation{}, budget
	for _, r := range running {
		if len(r.Curve) > 0 {
			continue
		}
		loaders, width := r.Loaders, max(1, r.Width)
		part := max(0, budget) / len(running) / width
		switch {
		case crowded:
			loaders = min(loaders, part)
		case r.Advised && r.Unchanged >= p.Dwell:
			loaders = max(loaders, min(part, defaultLoaders))
		}
		given[r.UID] = loaders
		left -= width * loaders
	}
	return given, left
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

func changedJobs(running []Running, best Allocation) []Running {
	var changed []Running
	for _, r := range running {
		if best[r.UID] != r.Loaders {
			changed = append(changed, r)
		}
	}
	return changed
}

// gain is what best adds over the time the jobs have left.
func (p ChangePolicy) gain(running []Running, best Allocation) float64 {
	gain := 0.0
	for _, r := range running {
		gain += (r.Value(best[r.UID]) - r.Value(r.Loaders)) * max(0, float64(r.Remaining))
	}
	return gain
}

// cost is what the changed jobs lose while they rebuild.
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
