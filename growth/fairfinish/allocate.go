package fairfinish

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// tolerance is the deficit, in core-seconds, that is taken for rounding.
	tolerance = 1e-6
	// instant is the time, in seconds, below which two times are one.
	instant = 1e-6
	// attempts bounds the search for the work that a job can be given; it seldom takes more than two.
	attempts = 8
)

// serve decides the work that each job is to get until the horizon: what is due, and then, in the order of the index, as
// much for each as leaves everybody else in time.
func (t *instance) allocate(horizon float64) (work []float64, reasons []string) {
	p := t.plan(horizon)
	t.makeFeasible(p)
	total := 0.0
	for i, due := range p.due {
		total += due[0]
		reasons = append(reasons, t.dueReason(i))
	}
	for _, i := range t.order {
		if total >= t.cores*horizon-tolerance {
			break
		}
		if more := t.raise(p, i, horizon); more > tolerance {
			total += more
			reasons[i] = t.extraReason(i)
		}
	}
	for _, due := range p.due {
		work = append(work, max(due[0], epsilon))
	}
	return work, reasons
}

// raise gives a job as much until the horizon as adds nothing to the plan's deficit, and returns what that is more.
func (t *instance) raise(p *plan, job int, horizon float64) (more float64) {
	before := p.due[job]
	work := min(t.accounts[job].Limit*horizon, p.remaining[job])
	base, slope, above, excess := p.deficit(), 1.0, 0.0, 0.0
	for range attempts {
		if work <= before[0]+tolerance {
			break
		}
		p.due[job] = slices.Clone(before)
		p.require(job, work)
		short := p.deficit() - base
		if short <= tolerance {
			return work - before[0]
		}
		// The deficit is convex in the work, so that a secant comes down to the greatest work that works, and not below.
		if excess > short {
			slope = (excess - short) / (above - work)
		}
		above, excess = work, short
		work -= short / slope
	}
	p.due[job] = before
	return 0
}

// yield makes a plan that does not work into one that does: in the order in which fair sharing would finish them, each
// job's due is kept as far as it can be. So whoever would finish last is late, if anybody must be.
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
			short := p.deficit()
			if short <= tolerance {
				break
			}
			last := p.due[i][len(floor)-1]
			p.due[i] = slices.Clone(p.due[i])
			for s := range floor {
				p.due[i][s] = max(floor[s], min(p.due[i][s], last-short))
			}
		}
	}
}

// plan is what is owed to each job, and when.
func (t *instance) plan(horizon float64) *plan {
	ends := []float64{horizon}
	for i := range t.accounts {
		for _, at := range []float64{t.catchUpTime(i, t.forecast.timeAt(i, t.minSize(i))), t.finish[i]} {
			if at > horizon && !math.IsInf(at, 1) {
				ends = append(ends, at)
			}
		}
	}
	slices.Sort(ends)
	ends = slices.CompactFunc(ends, func(b, a float64) bool { return b-a < instant })
	p := &plan{cores: t.cores}
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

// owe enters what is due to a job at each end: from when its size may be reached what fair sharing will have done of it,
// or a little before where that is not sure; all of it at its end there; and at any time the floor.
func (t *instance) addJob(p *plan, job int, ends []float64) {
	a, left, least := t.accounts[job], t.remaining(job), t.minSize(job)
	due, floor := make([]float64, len(ends)), make([]float64, len(ends))
	for s, end := range ends {
		floor[s] = t.config.Floor * (t.forecast.fairAt(job, end) - float64(a.FairWork))
		fair := growth.CoreSeconds(t.forecast.fairAt(job, t.fairTime(job, end)))
		switch {
		case end >= t.finish[job]-instant:
			due[s] = left
		case !t.late[job] && fair >= least-tolerance:
			due[s] = min(max(0, float64(fair-a.RealWork)), left)
		}
	}
	due[0] = min(due[0], a.Limit*ends[0]) // what can not be done by then is still to be done after
	p.limits = append(p.limits, a.Limit)
	p.due, p.floor, p.remaining = append(p.due, due), append(p.floor, floor), append(p.remaining, left)
	p.require(job, max(due[0], floor[0]))
}

// duty says why a job gets what it is owed.
func (t *instance) dueReason(job int) string {
	switch {
	case math.IsInf(t.finish[job], 1):
		return "its size is not known: what fair sharing gives it"
	case t.late[job]:
		return "late: fair sharing would have finished it"
	}
	return fmt.Sprintf("due in %.0f s", t.finish[job])
}

// gain says why a job gets more than it is owed.
func (t *instance) extraReason(job int) string {
	switch need, left := t.toTarget(job), t.remaining(job); {
	case need > 0 && !math.IsInf(need, 1):
		return fmt.Sprintf("%.0f core-seconds until its metric is good", need)
	case math.IsInf(left, 1):
		return "nobody else needs it"
	default:
		return fmt.Sprintf("%.0f core-seconds to its end", left)
	}
}
