package fairfinish

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Decision is how the cores are divided.
type Decision struct {
	// Grants are one for each job that runs, in the input's order. Their shares add up to 1.
	Grants []Grant
	// Next is the time to the next decision, unless a job arrives, ends or changes before.
	Next time.Duration
}

// Grant is one job's part.
type Grant struct {
	ID    growth.PodUID
	Share growth.Share
	// Due is the time in which fair sharing would finish the job if nobody arrived; +Inf where its size is not known.
	Due growth.Seconds
	// Late says that fair sharing would have finished the job already. Due is then what it takes the late jobs alone.
	Late   bool
	Reason string
}

// Decide charges what was used, and divides the cores anew. State is that of the last decision.
func Decide(c Config, s State, now time.Time, jobs []Job) (State, Decision) {
	next := s.next(c, now, jobs)
	running := slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return j.Finished })
	d := Decision{Next: c.Interval}
	if len(running) == 0 {
		return next, d
	}
	t := tableau(c, next, running)
	horizon := t.horizon()
	served, reasons := t.serve(horizon)
	sum := 0.0
	for _, work := range served {
		sum += work
	}
	for i, j := range running {
		g := Grant{ID: j.ID, Share: growth.Share(served[i] / sum), Due: growth.Seconds(t.finish[i]), Late: t.late[i], Reason: reasons[i]}
		d.Grants = append(d.Grants, g)
	}
	d.Next = growth.Seconds(horizon).Duration()
	return next, d
}

// table is everything about the running jobs that a decision is made of, by index. Times are seconds from now.
type table struct {
	config   Config
	cores    float64
	jobs     []Job
	accounts []Account
	forecast forecast
	finish   []float64 // when fair sharing finishes the job; if it has already, when its late share of the node does
	late     []bool
	order    []int // by index, the greatest first
}

func tableau(c Config, s State, jobs []Job) *table {
	t := &table{config: c, cores: c.Cores.Cores(), jobs: jobs}
	slot := make(map[growth.PodUID]int, len(jobs))
	for i, j := range jobs {
		slot[j.ID] = i
		t.accounts = append(t.accounts, s.Accounts[j.ID])
		t.order = append(t.order, i)
	}
	// Those that have really ended are in fair sharing's way still.
	_, ghosts := s.sorted(func(a Account) bool { return a.Ended && a.active() })
	t.forecast = foresee(append(slices.Clone(t.accounts), ghosts...), t.cores)
	for i, a := range t.accounts {
		_, size := a.size()
		t.finish = append(t.finish, t.forecast.when(i, size))
		t.late = append(t.late, !a.active())
	}
	t.hurry()
	slices.SortStableFunc(t.order, func(i, j int) int {
		return cmp.Or(
			cmp.Compare(c.Objective.index(t.accounts[j], jobs[j]), c.Objective.index(t.accounts[i], jobs[i])),
			cmp.Compare(t.finish[i], t.finish[j]),
			cmp.Compare(jobs[i].ID, jobs[j].ID),
		)
	})
	return t
}

// hurry gives late jobs their time: they share the node among themselves, so that none of them, whose size was
// predicted too small, keeps another waiting.
func (t *table) hurry() {
	var alone []Account
	var which []int
	for i, a := range t.accounts {
		if t.late[i] {
			alone, which = append(alone, Account{Left: a.Left, Weight: a.Weight, Limit: a.Limit}), append(which, i)
		}
	}
	f := foresee(alone, t.cores)
	for k, i := range which {
		_, size := alone[k].size()
		t.finish[i] = f.when(k, size)
	}
}

// index is what a core-second gains: the reward of the next milestone over the work to it.
func (o Objective) index(a Account, j Job) float64 {
	_, size := a.size()
	left := max(float64(size-a.Real), dust)
	need := math.Inf(1)
	if j.Need.Known {
		need = float64(j.Need.Likely)
	}
	if need <= 0 {
		return a.Weight * (1 - float64(o)) / left
	}
	return a.Weight * max(float64(o)/need, 1/left)
}

// horizon is how far ahead the decision is made: to the next interval, or to the first thing before it that changes
// what is best.
func (t *table) horizon() float64 {
	interval := t.config.Interval.Seconds()
	h := interval
	for _, at := range t.finish {
		if at > 0 {
			h = min(h, at)
		}
	}
	first := t.order[0]
	a, j := t.accounts[first], t.jobs[first]
	if j.Left.Known && j.Left.Likely > 0 {
		h = min(h, float64(j.Left.Likely)/a.Limit)
	}
	if j.Need.Known && j.Need.Likely > 0 {
		h = min(h, float64(j.Need.Likely)/a.Limit)
	}
	return max(h, interval/10)
}

// serve decides the work that each job is to get until the horizon.
func (t *table) serve(horizon float64) (work []float64, reasons []string) {
	p := t.plan(horizon)
	reasons = make([]string, len(t.jobs))
	total := 0.0
	for i, due := range p.due {
		total += due[0]
		reasons[i] = t.duty(i, due[0])
	}
	for _, i := range t.order {
		if total >= t.cores*horizon-dust {
			break
		}
		before := p.due[i][0]
		t.raise(p, i, horizon)
		if gain := p.due[i][0] - before; gain > dust {
			total += gain
			reasons[i] = t.gain(i)
		}
	}
	work = make([]float64, len(t.jobs))
	for i, due := range p.due {
		work[i] = max(due[0], dust)
	}
	return work, reasons
}

// raise gives a job as much until the horizon as leaves the plan working.
func (t *table) raise(p *plan, job int, horizon float64) {
	a, old := t.accounts[job], p.due[job]
	_, size := a.size()
	work := min(a.Limit*horizon, float64(size-a.Real))
	base, slope, above, excess := p.deficit(), 1.0, 0.0, 0.0
	for range attempts {
		if work <= old[0]+dust {
			break
		}
		p.due[job] = slices.Clone(old)
		p.lift(job, work)
		short := p.deficit() - base
		if short <= tolerance {
			return
		}
		// The deficit is convex in the work, so that a secant comes down to the greatest work that works, and not below.
		if excess > short {
			slope = (excess - short) / (above - work)
		}
		above, excess = work, short
		work -= short / slope
	}
	p.due[job] = old
}

// attempts bounds the search for the work that a job can be given; it seldom takes more than two.
const attempts = 8

// tolerance is the deficit, in core-seconds, that is taken for rounding.
const tolerance = 1e-6

// plan is what is owed to each job, and when.
func (t *table) plan(horizon float64) *plan {
	ends := []float64{horizon}
	for i, a := range t.accounts {
		low, _ := a.size()
		for _, at := range []float64{t.forecast.when(i, low), t.finish[i]} {
			if at > horizon && !math.IsInf(at, 1) {
				ends = append(ends, at)
			}
		}
	}
	slices.Sort(ends)
	ends = slices.CompactFunc(ends, func(a, b float64) bool { return math.Abs(b-a) < 1e-6 })
	p := &plan{cores: t.cores}
	before := 0.0
	for _, end := range ends {
		p.lengths = append(p.lengths, end-before)
		before = end
	}
	for i, a := range t.accounts {
		p.limits = append(p.limits, a.Limit)
		t.owe(p, i, ends)
	}
	return p
}

// owe enters what is due to a job at each end: what fair sharing will have done of it once its size may be reached, all
// of it at its end there, and at any time the floor.
func (t *table) owe(p *plan, job int, ends []float64) {
	a := t.accounts[job]
	low, likely := a.size()
	left := float64(likely - a.Real)
	due, floor := make([]float64, len(ends)), make([]float64, len(ends))
	for s, end := range ends {
		fair := t.forecast.at(job, end)
		floor[s] = t.config.Floor * (fair - float64(a.Fair))
		switch {
		case end >= t.finish[job]-1e-6:
			due[s] = left
		case !t.late[job] && fair >= float64(low)-2*dust:
			due[s] = min(max(0, fair-float64(a.Real)), left)
		}
		if s == 0 {
			due[0] = min(due[0], a.Limit*end)
		}
	}
	p.due, p.floor, p.left = append(p.due, due), append(p.floor, floor), append(p.left, left)
	p.lift(job, max(due[0], floor[0]))
}

// duty says why a job gets what it is owed.
func (t *table) duty(job int, work float64) string {
	switch {
	case math.IsInf(t.finish[job], 1):
		return "its size is not known: its fair share"
	case work <= 0:
		return "it can wait"
	case t.late[job]:
		return "late: fair sharing would have finished it"
	}
	return fmt.Sprintf("due in %.0f s", t.finish[job])
}

// gain says why a job gets more than it is owed.
func (t *table) gain(job int) string {
	j := t.jobs[job]
	if j.Need.Known && j.Need.Likely > 0 {
		return fmt.Sprintf("%.0f core-seconds to 95 %% of its metric, %.0f to its end", j.Need.Likely, j.Left.Likely)
	}
	return fmt.Sprintf("%.0f core-seconds to its end", j.Left.Likely)
}
