package fairfinish

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// nearly is the part of the work that may lack for a deadline that is served, and what the job can do in an interval may lack too. Estimates
// are off by as much at times, and a job that has lost its part once would hardly be in time afterwards.
const nearly = 0.25

// UserDeadline is when the user of a job needs its result. The zero value is no deadline. It is served from the slack: no other job
// ends later for it than under fair sharing, with the tolerance of this package.
type UserDeadline struct {
	At time.Time
	// Work is the work until then: to the job's end, or to the target that its user has declared.
	Work remaining.Estimate
	// Priority orders deadlines that cannot all be served; 0 means 1.
	Priority float64
}

func (d UserDeadline) declared() bool { return !d.At.IsZero() }

// Jobs with a deadline need a part of the node for it: the likely work, at a rate at which also the upper end of the estimate is in
// time. The likely work is therefore due earlier than at the deadline.
//
// Two things serve a deadline. The work is due in the plan, so no other job takes the time that it needs. And until the next decision
// the job gets what it needs at a constant rate, so a job that arrives later does not find that everything is still to be done. Both are granted
// only as far as all other work that is due stays feasible.
//
// A deadline that has passed, or that the job would miss even alone, gains nothing. Nor does one for which much of the work lacks:
// what it would get would delay other jobs and still not be enough. Of deadlines that exclude each other, that with the least work is served.
// So as many as possible are made, as by the rule of Moore and Hodgson (Management Science 15, 1968), which leaves out the largest job.

// canMakeDeadline reports whether a job has a deadline that it can make.
func (t *instance) canMakeDeadline(job int) bool {
	d := t.jobs[job].Deadline
	left := t.toDeadline(job)
	return d.declared() && Sized(d.Work) && left > 0 && !t.jobs[job].FloorOnly && t.accounts[job].Limit > 0 &&
		float64(min(d.Work.Low, d.Work.Likely))/t.accounts[job].Limit <= left
}

// toDeadline returns the time to a job's deadline, in seconds.
func (t *instance) toDeadline(job int) float64 { return t.jobs[job].Deadline.At.Sub(t.now).Seconds() }

// cautiousTime returns the time until which a job must have done its likely work so that the upper end is done at the deadline.
func (t *instance) cautiousTime(job int) float64 {
	work := t.jobs[job].Deadline.Work
	fastest := float64(work.Likely) / t.accounts[job].Limit
	return max(t.toDeadline(job)*float64(work.Likely/max(work.High, work.Likely)), min(fastest, t.toDeadline(job)))
}

// deadlineTimes returns the times at which the plan has work that is due by a job's deadline.
func (t *instance) deadlineTimes(job int) []float64 {
	if !t.canMakeDeadline(job) {
		return nil
	}
	return []float64{t.cautiousTime(job), t.toDeadline(job)}
}

// byDeadline returns the jobs whose deadlines may be served, in the order in which they claim the slack.
func (t *instance) byDeadline() []int {
	var jobs []int
	for i := range t.jobs {
		if t.canMakeDeadline(i) {
			jobs = append(jobs, i)
		}
	}
	slices.SortFunc(jobs, func(i, j int) int { return deadline.First(t.claim(i), t.claim(j)) })
	return jobs
}

func (t *instance) claim(job int) deadline.Claim {
	return deadline.Claim{
		Work:       t.jobs[job].Deadline.Work.Likely,
		ToDeadline: growth.Seconds(t.toDeadline(job)),
		Weight:     t.jobs[job].Deadline.Priority,
		Name:       string(t.jobs[job].ID),
	}
}

// serveDeadline makes the work that a job's deadline needs due in the plan, and gives the job its part until the horizon. It returns the
// increase of that part. A deadline for which more than a part of the work lacks is not served, and nothing is due for it.
func (t *instance) serveDeadline(p *plan, job int, horizon float64) (more float64, served bool) {
	need, by := float64(t.jobs[job].Deadline.Work.Likely), t.cautiousTime(job)
	before := p.due[job][0]
	if t.dueBy(p, job, by, need) > tolerance {
		by = t.toDeadline(job)
		lacking := t.dueBy(p, job, by, need)
		most := max(nearly*need, t.accounts[job].Limit*t.config.Interval.Seconds())
		if lacking > most || lacking > tolerance && t.dueBy(p, job, by, need-lacking) > tolerance {
			return 0, false
		}
	}
	t.raise(p, job, need*min(1, horizon/by))
	return p.due[job][0] - before, true
}

// dueBy makes work of a job due by a time, if the plan stays feasible. It returns the work that lacks otherwise.
func (t *instance) dueBy(p *plan, job int, by, work float64) (lacking float64) {
	base, before := p.deficitOf(job), p.due[job]
	p.due[job] = slices.Clone(before)
	work = min(work, p.remaining[job])
	for s, end := range p.ends {
		if end >= by-instant && !math.IsInf(work, 1) {
			p.due[job][s] = max(p.due[job][s], work)
		}
	}
	lacking = p.deficitOf(job) - base
	if lacking > tolerance {
		p.due[job] = before
		return lacking
	}
	return 0
}

// deadlineReason says what became of a job's deadline.
func (t *instance) deadlineReason(job int, served bool) string {
	if !served {
		return fmt.Sprintf("its deadline in %.0f s gains nothing, because the work due to others leaves too little time for it", t.toDeadline(job))
	}
	return fmt.Sprintf("its deadline in %.0f s needs %.0f %s", t.toDeadline(job), float64(t.jobs[job].Deadline.Work.Likely), t.config.Unit)
}
