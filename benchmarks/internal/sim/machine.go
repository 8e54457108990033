package sim

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// Running is a job on the machine, with the core-seconds it has done.
type Running struct {
	Job
	Index int
	Done  float64
	// Elsewhere is the part of Done that the job has done on other nodes.
	Elsewhere float64
	// Waited is the time in which a job on GPUs was ready and others computed, Held the time in which it computed, in seconds.
	// Together is the part of Held in which others computed as well, by their IDs.
	Waited, Held float64
	Together     map[string]float64

	reported int
	uid      growth.PodUID // see id
}

// milestone is the work until the next observable change: the job's end, or its target if the policy is alert to it.
func (r *Running) milestone(alert bool) float64 {
	if alert && r.Losses == nil && r.Done < r.Need-dust {
		return r.Need - r.Done
	}
	return r.Work - r.Done
}

// heard returns the reports since the previous call.
func (r *Running) heard() []Loss {
	from := r.reported
	for r.reported < len(r.Losses) && r.Losses[r.reported].After*r.Work <= r.Done {
		r.reported++
	}
	return r.Losses[from:r.reported]
}

// Policy divides the machine among the running jobs, at least one. ended lists jobs that have ended since the
// previous call. It returns each job's relative share, and the time to the next decision in seconds.
type Policy interface {
	Decide(now float64, running, ended []*Running) (shares []float64, next float64)
}

// Outcome has the seconds from a job's arrival to its target and to its end.
type Outcome struct {
	Good, End float64
}

// dust is work too small to matter, in core-seconds.
const dust = 1e-7

// Run runs jobs, in the order of their arrival, under a policy. The policy decides at each arrival and end, when its
// interval is over, and, if it is alert to that, when a job reaches its target. Run returns the outcome of each job,
// and the time of the last end.
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
		rates, compute := compute(running, shares, cores, policy)
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
			compute(i, step)
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

// compute returns the work of each job per second, and a function that records the use of GPUs by job i for some seconds.
func compute(running []*Running, shares []float64, cores float64, p Policy) (rates []float64, record func(i int, seconds float64)) {
	if len(running[0].On) == 0 {
		return divide(running, shares, cores), func(int, float64) {}
	}
	var plan node.TurnPlan
	if n, ok := p.(interface{ turnPlan() node.TurnPlan }); ok {
		plan = n.turnPlan()
	}
	uses := computeOnGPUs(running, plan)
	for _, use := range uses {
		rates = append(rates, use.work)
	}
	return rates, func(i int, seconds float64) { running[i].compute(uses[i], seconds) }
}

// divide assigns cores as Linux does: by weight, to no job more than it can use, and no core is idle that some job
// can use.
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
	for _, i := range order { // the job that reaches its limit first
		rates[i] = min(jobs[i].Limit, cores*min(1, shares[i]/weights))
		cores -= rates[i]
		weights -= shares[i]
	}
	return rates
}
