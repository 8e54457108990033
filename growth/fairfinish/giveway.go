package fairfinish

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// maxHarm is the bound on the harm of a job, as a fraction of its time since its arrival. GiveWay asks what jobs would give within it.
const maxHarm = 0.05

// Way is how much of its time one job would have to give.
type Way struct {
	ID   growth.PodUID
	Work growth.Work
}

// GiveWay answers what would have to happen for a job to end before its user's deadline. Lacking is the work that the slack does not
// suffice for; 0 if it does. Ways names the jobs that would have to give way, each by at most 5 % of its own time, and how
// much work each would give until the deadline. It is empty if all of them together cannot give enough. s is the state that Decide has returned for these jobs.
func GiveWay(c Config, s State, jobs []Job, id growth.PodUID) (lacking growth.Work, ways []Way) {
	t := newInstance(c, s, inUnit(jobs, c.Unit))
	job := slices.IndexFunc(t.jobs, func(j Job) bool { return j.ID == id })
	if job < 0 || !t.servesDeadline(job) {
		return 0, nil
	}
	rest := t.lacking(job)
	lacking = growth.Work(rest)
	for _, i := range t.lastFirst() {
		if rest <= tolerance {
			return lacking, ways
		}
		if i == job || !together(t.accounts[i], t.accounts[job]) || t.jobs[i].FloorOnly {
			continue
		}
		t.relax(i)
		if after := t.lacking(job); after < rest-tolerance {
			ways = append(ways, Way{ID: t.jobs[i].ID, Work: growth.Work(rest - after)})
			rest = after
		}
	}
	if rest > tolerance {
		return lacking, nil
	}
	return lacking, ways
}

// lacking returns the work that lacks for a job's deadline, after the deadlines that are more urgent.
func (t *instance) lacking(job int) float64 {
	p := t.plan(t.horizon())
	t.makeFeasible(p)
	for _, i := range t.byDeadline() {
		if i == job {
			return t.dueBy(p, job, t.toDeadline(job), float64(t.jobs[job].Deadline.Work.Likely))
		}
		t.dueBy(p, i, t.toDeadline(i), float64(t.jobs[i].Deadline.Work.Likely))
	}
	return 0
}

// lastFirst returns the jobs in the order in which they are asked: what they give delays those that end last by the smallest part of
// their time.
func (t *instance) lastFirst() []int {
	jobs := slices.Clone(t.order)
	slices.SortStableFunc(jobs, func(i, j int) int {
		switch {
		case t.finish[i] > t.finish[j]:
			return -1
		case t.finish[i] < t.finish[j]:
			return 1
		}
		return 0
	})
	return jobs
}

// relax lets a job lag behind fair sharing by the bound on its harm.
func (t *instance) relax(job int) {
	if !t.relaxed[job] {
		t.relaxed[job] = true
		t.finish[job] = t.catchUpTime(job, t.finish[job])
	}
}
