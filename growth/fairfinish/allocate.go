package fairfinish

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// tolerance is a deficit of work that is attributed to rounding.
	tolerance = 1e-6
	// instant is a difference of times, in seconds, that is attributed to rounding.
	instant = 1e-6
	// attempts bounds the search for the work that a job can be given. It rarely takes more than two.
	attempts = 8
)

// allocate returns the work that each job receives until the horizon: the work that is due, what the deadlines of users
// need, and then, in the order of the index, as much as leaves all other jobs in time.
func (t *instance) allocate(horizon float64) (work []float64, reasons []string) {
	p := t.plan(horizon)
	all := p.due
	t.makeFeasible(p)
	total := 0.0
	for i, due := range p.due {
		total += due[0]
		reason := t.dueReason(i)
		if due[0] < all[i][0]-tolerance {
			reason += "; it gets less, because not all jobs can have what is due"
		}
		reasons = append(reasons, reason)
	}
	about := make([]string, len(t.jobs)) // the deadlines
	for _, i := range t.byDeadline() {
		more, served := t.serveDeadline(p, i, horizon)
		total += more
		about[i] = t.deadlineReason(i, served)
		reasons[i] += "; " + about[i]
	}
	for _, i := range t.order {
		if total >= t.cores*horizon-tolerance {
			break
		}
		more := t.raise(p, i, t.accounts[i].Limit*horizon)
		if more > tolerance {
			total += more
			reasons[i] = t.extraReason(i, about[i])
		}
	}
	for _, due := range p.due {
		work = append(work, max(due[0], epsilon))
	}
	return work, reasons
}

// raise gives a job the most work until the horizon, up to a bound, that does not increase the plan's deficit. It returns the
// increase.
func (t *instance) raise(p *plan, job int, most float64) (more float64) {
	before := p.due[job]
	work := min(most, p.remaining[job])
	base, slope := p.deficitOf(job), 1.0
	above, excess := 0.0, 0.0
	for range attempts {
		if work <= before[0]+tolerance {
			break
		}
		p.due[job] = slices.Clone(before)
		p.require(job, work)
		deficit := p.deficitOf(job) - base
		if deficit <= tolerance {
			return work - before[0]
		}
		// The deficit is convex in the work. The secant method therefore approaches the largest feasible work from
		// above.
		if excess > deficit {
			slope = (excess - deficit) / (above - work)
		}
		above, excess = work, deficit
		work -= deficit / slope
	}
	p.due[job] = before
	return 0
}

// makeFeasible reduces the due work of an infeasible plan. It keeps as much of each job's due work as possible, in the
// order in which fair sharing would end the jobs. If a job must be late, it is the one that would end last.
func (t *instance) makeFeasible(p *plan) {
	if p.deficit() <= tolerance {
		return
	}
	due := p.due
	p.due = make([][]float64, len(due))
	for i := range due {
		p.due[i] = make([]float64, len(due[i]))
		p.require(i, p.floor[i][0])
	}
	byFinish := slices.Clone(t.order)
	slices.SortStableFunc(byFinish, func(i, j int) int { return cmp.Compare(t.finish[i], t.finish[j]) })
	for _, i := range byFinish {
		floor := p.due[i]
		p.due[i] = due[i]
		for range attempts {
			deficit := p.deficitOf(i)
			if deficit <= tolerance {
				break
			}
			last := p.due[i][len(floor)-1]
			p.due[i] = slices.Clone(p.due[i])
			for s := range floor {
				p.due[i][s] = max(floor[s], min(p.due[i][s], last-deficit))
			}
		}
	}
}

// plan returns the plan of all due work. Its segments end at the horizon and at each job's deadlines.
func (t *instance) plan(horizon float64) *plan {
	ends := []float64{horizon}
	for i := range t.accounts {
		mayEnd := t.fair(i).timeAt(i, t.minSize(i))
		times := append(t.deadlineTimes(i), t.catchUpTime(i, mayEnd), t.finish[i])
		for _, at := range times {
			if at > horizon && !math.IsInf(at, 1) {
				ends = append(ends, at)
			}
		}
	}
	slices.Sort(ends)
	ends = slices.CompactFunc(ends, func(b, a float64) bool { return b-a < instant })
	p := &plan{ends: ends, cores: t.cores, on: t.placement(), speedups: speedups(t.accounts)}
	before := 0.0
	for _, end := range ends {
		p.lengths = append(p.lengths, end-before)
		before = end
	}
	for i := range t.accounts {
		t.addJob(p, i, ends)
	}
	return p
}

// addJob adds the due work of a job at the end of each segment: all of it at its deadline, FairWork (minus the lag)
// once its minimum size is reached, and the floor at all times.
func (t *instance) addJob(p *plan, job int, ends []float64) {
	a := t.accounts[job]
	remaining, minSize := t.remaining(job), t.minSize(job)
	due, floor := make([]float64, len(ends)), make([]float64, len(ends))
	for s, end := range ends {
		floor[s] = t.config.Floor * (t.fair(job).fairAt(job, end) - float64(a.FairWork))
		fair := growth.Work(t.fair(job).fairAt(job, t.fairTime(job, end)))
		switch {
		case t.jobs[job].FloorOnly: // its floor only
		case end >= t.finish[job]-instant:
			due[s] = remaining
		case !t.late[job] && fair >= minSize-tolerance:
			due[s] = min(max(0, float64(fair-a.RealWork)), remaining)
		}
	}
	due[0] = min(due[0], a.Limit*ends[0]) // the rest is still due in later segments
	p.limits = append(p.limits, a.Limit)
	p.due = append(p.due, due)
	p.floor = append(p.floor, floor)
	p.remaining = append(p.remaining, remaining)
	p.require(job, max(due[0], floor[0]))
}

// dueReason explains which work of a job is due. The work that it receives may be less, if the plan is not feasible, or
// more, if the job lags behind fair sharing.
func (t *instance) dueReason(job int) string {
	switch {
	case t.jobs[job].FloorOnly:
		return fmt.Sprintf("only the floor, %g of its fair share, is due", t.config.Floor)
	case t.accounts[job].Doubtful:
		return fmt.Sprintf("only other nodes know its size: what fair sharing gives it is due, once that is %.0f %s",
			float64(t.plausible), t.config.Unit)
	case math.IsInf(t.finish[job], 1):
		return "its size is unknown: what fair sharing gives it is due"
	case t.late[job]:
		return "late: fair sharing would have finished it"
	}
	return fmt.Sprintf("due in %.0f s", t.finish[job])
}

// extraReason explains why a job receives more than its due work. deadline is what became of its deadline, if it has one.
func (t *instance) extraReason(job int, deadline string) string {
	toTarget, remaining := t.toTarget(job), t.predicted(job)
	if deadline != "" {
		return t.dueReason(job) + "; " + deadline + "; and what no job with less work left can use"
	}
	switch {
	case t.jobs[job].FloorOnly:
		return t.dueReason(job) + "; no job with a larger claim can use the rest"
	case toTarget > 0 && !math.IsInf(toTarget, 1):
		return fmt.Sprintf("%.0f %s to its target", toTarget, t.config.Unit)
	case math.IsInf(remaining, 1):
		return t.dueReason(job) + "; no job with less work left can use the rest"
	}
	return fmt.Sprintf("%.0f %s to its end", remaining, t.config.Unit)
}
