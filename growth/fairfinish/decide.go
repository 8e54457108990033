package fairfinish

import (
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Decision is how the cores are divided.
type Decision struct {
	// Grants are one for each job that runs, in the input's order. Their shares add up to 1.
	Grants []Grant
	// Next is the time to the next decision, unless a job arrives or ends before. It is an interval, or less where a job is
	// due or about to reach something, but never less than a tenth.
	Next time.Duration
}

// Grant is one job's part.
type Grant struct {
	ID    growth.PodUID
	Share growth.Share
	// FairFinish is the time in which fair sharing would finish the job if nobody arrived; +Inf where its size is not known.
	FairFinish growth.Seconds
	// Overdue says that fair sharing would have finished the job already. Due is then what the late jobs need alone.
	Overdue bool
	// Reason says in words why the share is what it is.
	Reason string
}

// Decide charges what was used since the last decision, whose State it is given, and divides the cores anew. It changes
// nothing: the next State is the first result.
func Decide(c Config, s State, now time.Time, jobs []Job) (State, Decision) {
	next := s.next(c, now, jobs)
	running := slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return j.Finished })
	if len(running) == 0 {
		return next, Decision{Next: c.Interval}
	}
	t := newInstance(c, next, running)
	horizon := t.horizon()
	work, reasons := t.allocate(horizon)
	sum := 0.0
	for _, w := range work {
		sum += w
	}
	d := Decision{Next: growth.Seconds(t.holdTime(horizon, work)).Duration()}
	for i, j := range running {
		share := work[i] / sum
		d.Grants = append(d.Grants, Grant{ID: j.ID, Share: growth.Share(share), FairFinish: growth.Seconds(t.finish[i]), Overdue: t.late[i], Reason: reasons[i]})
		a := next.Accounts[j.ID]
		a.GrantedCores = min(share*t.cores, a.Limit)
		next.Accounts[j.ID] = a
	}
	return next, d
}

// table is everything about the running jobs that a decision is made of. Times are seconds from now.
type instance struct {
	config   Config
	cores    float64
	jobs     []Job
	accounts []Account
	forecast forecast
	finish   []float64 // when fair sharing finishes the job; where it has already, when the late jobs alone would
	late     []bool
	order    []int // jobs by their index, the greatest first
}

func newInstance(c Config, s State, jobs []Job) *instance {
	t := &instance{config: c, cores: s.Served * c.Cores.Cores(), jobs: jobs}
	for i, j := range jobs {
		t.accounts = append(t.accounts, s.Accounts[j.ID])
		t.order = append(t.order, i)
	}
	// Those that have really ended are still there under fair sharing.
	_, ghosts := s.sorted(func(a Account) bool { return a.Ended && a.active() })
	t.forecast = newForecast(slices.Concat(t.accounts, ghosts), t.cores)
	for i, a := range t.accounts {
		_, size := a.size()
		t.finish = append(t.finish, t.forecast.timeAt(i, size))
		t.late = append(t.late, !a.active())
	}
	t.setLateFinish()
	t.sort()
	return t
}

// hurry gives late jobs their time: they share the node among themselves, so that one whose size was predicted too small
// does not keep the others waiting.
func (t *instance) setLateFinish() {
	var alone []Account
	var which []int
	for i, a := range t.accounts {
		if t.late[i] {
			alone, which = append(alone, Account{Remaining: a.Remaining, Weight: a.Weight, Limit: a.Limit}), append(which, i)
		}
	}
	f := newForecast(alone, t.cores)
	for k, i := range which {
		_, size := alone[k].size()
		t.finish[i] = f.timeAt(k, size)
	}
}

// horizon is how far ahead the decision is made: an interval, or to the first thing before that changes what is best.
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

// until is how long a decision holds: to its horizon, or until a job that is served has an end or a good metric before. On
// many cores that is seldom the first in the order.
func (t *instance) holdTime(horizon float64, work []float64) float64 {
	next := horizon
	for i := range t.jobs {
		if work[i] < t.accounts[i].Limit*horizon/10 {
			continue // hardly served: it is some other decision that will bring it there
		}
		for _, rest := range []float64{t.remaining(i), t.toTarget(i)} {
			if rest > 0 {
				next = min(next, rest/work[i]*horizon)
			}
		}
	}
	return max(next, min(horizon, t.config.Interval.Seconds()/10))
}

// left is the work to a job's end, in core-seconds; infinite where it is not known.
func (t *instance) remaining(job int) float64 {
	a := t.accounts[job]
	_, size := a.size()
	return float64(size - a.RealWork)
}

// need is the work until a job's metric is good; infinite where it is not known. One that is likely good, but perhaps not, is
// thought to need the most that it may: taken for good too soon it would wait behind all others, with little missing.
func (t *instance) toTarget(job int) float64 {
	n := t.jobs[job].ToTarget
	switch {
	case !valid(n):
		return math.Inf(1)
	case n.Likely <= 0 && !math.IsInf(float64(n.High), 1):
		return float64(n.High)
	}
	return float64(n.Likely)
}
