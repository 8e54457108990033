package fairfinish

import (
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Decision is a division of the cores, or of the GPUs' time.
type Decision struct {
	// Grants has one grant for each job that runs, in the order of the input. Shares of cores add up to 1. The share of a job
	// on GPUs is a fraction of time. On the GPU with the most work, these add up to 1.
	Grants []Grant
	// Next is the time until the next decision, unless a job arrives or ends earlier. It is at most one interval and at
	// least a tenth of it. It is shorter than an interval if a job is about to end, to reach its target or its
	// deadline.
	Next time.Duration
}

// Grant is the share of one job.
type Grant struct {
	ID    growth.PodUID
	Share growth.Share
	// FairFinish is the time from now until the job ends under fair sharing if no further job arrives; +Inf if its size
	// is unknown. For a job that is overdue, it is the time until it would end if the overdue jobs had the node to
	// themselves.
	FairFinish growth.Seconds
	// Overdue is set if the job would have ended under fair sharing.
	Overdue bool
	// Reason explains the share in words.
	Reason string
}

// Decide charges the usage since the last decision to the accounts in s and divides the cores again. It does not modify
// s; it returns the next state.
func Decide(c Config, s State, now time.Time, jobs []Job) (State, Decision) {
	jobs = inUnit(jobs, c.Unit)
	next := s.next(c, now, jobs)
	running := slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return j.Finished || j.Paused })
	if len(running) == 0 {
		return next, Decision{Next: c.Interval}
	}
	t := newInstance(c, next, running)
	horizon := t.horizon()
	work, reasons := t.allocate(horizon)
	d := Decision{Next: growth.Seconds(t.holdTime(horizon, work)).Duration()}
	for i, share := range t.shares(work) {
		j := running[i]
		d.Grants = append(d.Grants, Grant{
			ID:         j.ID,
			Share:      growth.Share(share),
			FairFinish: growth.Seconds(t.finish[i]),
			Overdue:    t.late[i],
			Reason:     reasons[i],
		})
		a := next.Accounts[j.ID]
		a.GrantedCores = min(share*t.capacity(i), a.Limit)
		next.Accounts[j.ID] = a
	}
	return next, d
}

// instance is the input of one decision, with a simulation of fair sharing. Times are in seconds from now.
type instance struct {
	config   Config
	now      time.Time
	cores    float64
	jobs     []Job
	accounts []Account
	// forecast has jobs that load start at once, loading as they are expected to.
	forecast, loading forecast
	// finish is the time at which each job ends under fair sharing. For a late job it is the time at which it would end
	// if the late jobs had the node to themselves.
	finish []float64
	// late is set for jobs that have ended under fair sharing only.
	late []bool
	// plausible is the work from which on a job of doubtful size may end at any time.
	plausible growth.Work
	// order has the indices of the jobs, in order of decreasing priority.
	order []int
	// relaxed has the jobs that may lag behind fair sharing by maxHarm, to see what that would give.
	relaxed map[int]bool
}

func newInstance(c Config, s State, jobs []Job) *instance {
	t := &instance{config: c, now: s.At, cores: s.Served * c.Cores.Cores(), jobs: jobs, relaxed: map[int]bool{}}
	for i, j := range jobs {
		t.accounts = append(t.accounts, s.Accounts[j.ID])
		t.order = append(t.order, i)
	}
	// Jobs that have ended on the real node may still run on the virtual one.
	_, virtualOnly := s.sorted(func(a Account) bool { return a.Ended && a.active() })
	all := slices.Concat(t.accounts, virtualOnly)
	t.forecast, t.loading = newForecast(all, t.cores), forecastFrom(all, t.cores, Account.startsIn)
	t.plausible = plausibleSize(all)
	for i, a := range t.accounts {
		_, size := a.size()
		t.finish = append(t.finish, t.fair(i).timeAt(i, size))
		if t.jobs[i].FloorOnly {
			t.finish[i] = math.Inf(1) // it has no deadline
		}
		t.late = append(t.late, !a.active())
	}
	t.setLateFinish()
	t.sort()
	return t
}

// setLateFinish sets the finish of late jobs. They share the node among themselves, so that a job whose size was
// underestimated does not block the others.
func (t *instance) setLateFinish() {
	var accounts []Account
	var indices []int
	for i, a := range t.accounts {
		if t.late[i] && !t.jobs[i].FloorOnly {
			accounts = append(accounts, Account{
				Remaining: a.Remaining,
				Weight:    a.Weight,
				Limit:     a.Limit,
				On:        a.On,
				Speedup:   a.Speedup,
				Overlap:   a.Overlap,
			})
			indices = append(indices, i)
		}
	}
	f := newForecast(accounts, t.cores)
	for k, i := range indices {
		_, size := accounts[k].size()
		t.finish[i] = f.timeAt(k, size)
	}
}

// horizon returns how far ahead the decision looks: one interval, or the time until an earlier event that changes the
// best division.
func (t *instance) horizon() float64 {
	interval := t.config.Interval.Seconds()
	h := interval
	for _, at := range t.finish {
		if at > 0 {
			h = min(h, at)
		}
	}
	first := t.order[0]
	for _, work := range []float64{t.remaining(first), t.toTarget(first)} {
		if work > 0 {
			h = min(h, work/t.accounts[first].Limit)
		}
	}
	return max(h, interval/10)
}

// holdTime returns how long the decision holds: until its horizon, or until a job that receives a substantial grant
// ends or reaches its target. With many cores that job is often not the first in the order.
func (t *instance) holdTime(horizon float64, work []float64) float64 {
	next := horizon
	for i := range t.jobs {
		if work[i] < t.accounts[i].Limit*horizon/10 {
			continue // too little for the job to end or reach its target under this decision
		}
		for _, rest := range []float64{t.remaining(i), t.toTarget(i)} {
			if rest > 0 {
				next = min(next, rest/work[i]*horizon)
			}
		}
	}
	return max(next, min(horizon, t.config.Interval.Seconds()/10))
}

// remaining returns the likely remaining work of a job; infinite if unknown.
func (t *instance) remaining(job int) float64 {
	a := t.accounts[job]
	_, size := a.size()
	return float64(size - a.RealWork)
}

// predicted is remaining with a doubtful size, which serves the order only.
func (t *instance) predicted(job int) float64 {
	if a := t.accounts[job]; a.Doubtful && Sized(a.Remaining) {
		return float64(a.Remaining.Likely)
	}
	return t.remaining(job)
}

// toTarget returns the work until a job reaches its target; infinite if unknown. If the job has likely
// but not certainly reached it, the result is the upper bound. Otherwise a job that has not reached its target after all
// would wait behind all others with little work left.
func (t *instance) toTarget(job int) float64 {
	e := t.jobs[job].ToTarget
	switch {
	case !valid(e):
		return math.Inf(1)
	case e.Likely <= 0 && !math.IsInf(float64(e.High), 1):
		return float64(e.High)
	}
	return float64(e.Likely)
}
