package fairfinish

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// maxHarm is the bound on the harm of a job, as a fraction of its time since its arrival. GiveWay first asks what jobs would give
	// within it.
	maxHarm = 0.05
	// maxAsked bounds the jobs that GiveWay asks. A longer list would help nobody, and each question costs a plan.
	maxAsked = 12
)

// Give is what would have to happen for a job to end before its user's deadline.
type Give struct {
	// Lacking is the work that the slack does not suffice for; 0 if it does.
	Lacking growth.Work
	// Ways are the jobs that would have to give way. None of them can be left out. It is empty if no jobs of the node can give enough.
	Ways []Way
	// Pause is set if they would have to be paused until the deadline. Otherwise each of them would end later than under fair sharing,
	// by maxHarm of its own time at most.
	Pause bool
}

// Way is what one job would have to give until the deadline.
type Way struct {
	ID   growth.PodUID
	Work growth.Work
	// Part is Work per second, in thousandths of a core or of a GPU.
	Part growth.MilliCPU
}

// GiveWay answers what would have to happen for a job to end before its user's deadline. s is the state that Decide has returned for
// these jobs.
//
// The jobs that end last are asked first: what they give delays them by the smallest part of their time. They are asked for what
// they can give within the bound on their harm. If that does not suffice, they are asked to pause.
func GiveWay(c Config, s State, jobs []Job, id growth.PodUID) Give {
	q := question{config: c, state: s, jobs: inUnit(jobs, c.Unit), id: id}
	t := newInstance(c, s, q.jobs)
	job := slices.IndexFunc(t.jobs, func(j Job) bool { return j.ID == id })
	if job < 0 || !t.servesDeadline(job) {
		return Give{}
	}
	q.seconds = t.toDeadline(job)
	give := Give{Lacking: growth.Work(t.lacking(job))}
	if give.Lacking <= tolerance {
		return Give{}
	}
	asked := t.asked(job)
	for _, pause := range []bool{false, true} {
		if ways := q.least(asked, pause); len(ways) > 0 {
			give.Ways, give.Pause = ways, pause
			break
		}
	}
	return give
}

// asked returns the jobs that could give way for a job, in the order in which they are asked.
func (t *instance) asked(job int) (asked []growth.PodUID) {
	order := slices.Clone(t.order)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(t.finish[j], t.finish[i]) })
	for _, i := range order {
		if i != job && together(t.accounts[i], t.accounts[job]) && len(asked) < maxAsked {
			asked = append(asked, t.jobs[i].ID)
		}
	}
	return asked
}

// question is about the deadline of one job.
type question struct {
	config  Config
	state   State
	jobs    []Job
	id      growth.PodUID
	seconds float64 // to the deadline
}

// least returns a set of jobs that suffices if they give way, and of which none can be left out; nil if there is none.
func (q question) least(asked []growth.PodUID, pause bool) []Way {
	var set []growth.PodUID
	rest := q.lacking(nil, pause)
	for _, id := range asked {
		if rest <= tolerance {
			break
		}
		if after := q.lacking(append(set, id), pause); after < rest-tolerance {
			set, rest = append(set, id), after
		}
	}
	if rest > tolerance {
		return nil
	}
	for _, id := range slices.Clone(set) {
		without := slices.DeleteFunc(slices.Clone(set), func(other growth.PodUID) bool { return other == id })
		if q.lacking(without, pause) <= tolerance {
			set = without
		}
	}
	return q.parts(set, pause)
}

// parts returns what each job of a set gives, after those before it.
func (q question) parts(set []growth.PodUID, pause bool) (ways []Way) {
	rest := q.lacking(nil, pause)
	for i, id := range set {
		after := q.lacking(set[:i+1], pause)
		work := max(rest-after, 0)
		ways = append(ways, Way{
			ID:   id,
			Work: growth.Work(work),
			Part: growth.MilliCPU(work / q.seconds * float64(growth.Core)),
		})
		rest = after
	}
	return ways
}

// lacking returns the work that lacks if some jobs give way.
func (q question) lacking(set []growth.PodUID, pause bool) float64 {
	gives := func(j Job) bool { return slices.Contains(set, j.ID) }
	jobs := q.jobs
	if pause { // both nodes are as without them
		jobs = slices.DeleteFunc(slices.Clone(jobs), gives)
	}
	t := newInstance(q.config, q.state, jobs)
	job := -1
	for i, j := range t.jobs {
		switch {
		case j.ID == q.id:
			job = i
		case gives(j):
			t.relax(i)
		}
	}
	return t.lacking(job)
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

// relax lets a job lag behind fair sharing by the bound on its harm. A job of which only the floor is due can give nothing more.
func (t *instance) relax(job int) {
	if t.jobs[job].FloorOnly {
		return
	}
	t.relaxed[job] = true
	t.finish[job] = t.catchUpTime(job, t.finish[job])
}
