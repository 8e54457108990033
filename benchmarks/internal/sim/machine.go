package sim

import (
	"cmp"
	"slices"
)

// Running is a job on the machine, and the core-seconds it has done.
type Running struct {
	Job
	Index int
	Done  float64

	told int
}

// milestone is the work until something happens that is seen at once: the job ends, or its metric is good, where it is
// told when that is and the policy is alert to it.
func (r *Running) milestone(alert bool) float64 {
	if alert && r.Losses == nil && r.Done < r.Need-dust {
		return r.Need - r.Done
	}
	return r.Work - r.Done
}

// heard are the reports since it was last asked for them.
func (r *Running) heard() []Loss {
	from := r.told
	for r.told < len(r.Losses) && r.Losses[r.told].After*r.Work <= r.Done {
		r.told++
	}
	return r.Losses[from:r.told]
}

// Policy divides the machine among the jobs that run, at least one; others have ended since it was last asked. It
// returns each one's share, relative to the others', and the time to the next decision in seconds.
type Policy interface {
	Decide(now float64, running, ended []*Running) (shares []float64, next float64)
}

// Outcome is what became of one job: the seconds after its arrival at which it was at 95 %, and had ended.
type Outcome struct {
	Good, End float64
}

// dust is work too small to matter, in core-seconds.
const dust = 1e-7

// Run lets the jobs, in the order of their arrival, run under a policy, which is asked at each arrival, each end, when its
// time is over, and, if it is alert to that, when a metric is told to be good. It returns what became of each, and when the
// last one ended.
func Run(jobs []Job, cores float64, policy Policy) (outcomes []Outcome, makespan float64) {
	outcomes = make([]Outcome, len(jobs))
	var running, ended []*Running
	now := 0.0
	_, alert := policy.(interface{ alert() })
	for arrived := 0; arrived < len(jobs) || len(running) > 0; {
		if len(running) == 0 {
			now = max(now, jobs[arrived].Arrival)
		}
		for arrived < len(jobs) && jobs[arrived].Arrival <= now {
			running = append(running, &Running{Job: jobs[arrived], Index: arrived})
			arrived++
		}
		shares, step := policy.Decide(now, running, ended)
		rates := divide(running, shares, cores)
		if arrived < len(jobs) {
			step = min(step, jobs[arrived].Arrival-now)
		}
		for i, j := range running {
			step = min(step, j.milestone(alert)/rates[i])
		}
		ended = nil
		for i, j := range running {
			if o := &outcomes[j.Index]; o.Good == 0 && j.Done+rates[i]*step >= j.Need-dust {
				o.Good = now + (j.Need-j.Done)/rates[i] - j.Arrival
			}
			if j.Done += rates[i] * step; j.Done >= j.Work-dust {
				outcomes[j.Index].End = now + step - j.Arrival
				ended = append(ended, j)
			}
		}
		running = slices.DeleteFunc(running, func(j *Running) bool { return j.Done >= j.Work-dust })
		now += step
	}
	return outcomes, now
}

// divide gives out cores as Linux does: by weight, to nobody more than it can use, and none is idle that somebody can
// use.
func divide(jobs []*Running, shares []float64, cores float64) []float64 {
	order := make([]int, len(jobs))
	weights := 0.0
	for i := range jobs {
		order[i] = i
		weights += shares[i]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(jobs[a].Limit*shares[b], jobs[b].Limit*shares[a])
	})
	rates := make([]float64, len(jobs))
	for _, i := range order { // whoever reaches its limit first
		rates[i] = min(jobs[i].Limit, cores*min(1, shares[i]/weights))
		cores -= rates[i]
		weights -= shares[i]
	}
	return rates
}
