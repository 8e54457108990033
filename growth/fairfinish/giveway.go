package fairfinish

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// maxHarm is the bound on the harm of a job, as a fraction of its time since its arrival. GiveWay first asks what jobs would give
	// within it.
	maxHarm = 0.05
	// maxAsked bounds the jobs that GiveWay asks. A longer list is of no use, and each question costs a plan.
	maxAsked = 12
	// maxTried is the number of jobs up to which all sets of them are tried.
	maxTried = 4
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
	if job < 0 || !t.canMakeDeadline(job) {
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

// least returns a set of jobs that suffices if they give way, and of which none can be left out; nil if none is found. Of a few jobs all
// sets are tried, the smallest first. Of more, a set is grown and then reduced, which may miss one.
func (q question) least(asked []growth.PodUID, pause bool) []Way {
	if len(asked) <= maxTried {
		for size := range len(asked) {
			for chosen := range uint(1) << len(asked) {
				if set := subset(asked, chosen); len(set) == size+1 && q.lacking(set, pause) <= tolerance {
					return q.parts(set, pause)
				}
			}
		}
		return nil
	}
	set, suffices := q.grow(asked, pause, true)
	if !suffices {
		set, suffices = q.grow(asked, pause, false)
	}
	if !suffices {
		return nil
	}
	return q.parts(q.reduced(set, pause), pause)
}

// subset returns the jobs whose bits are set.
func subset(jobs []growth.PodUID, chosen uint) (set []growth.PodUID) {
	for i, id := range jobs {
		if chosen>>i&1 == 1 {
			set = append(set, id)
		}
	}
	return set
}

// reduced leaves out the jobs of a set that are not needed, those that were asked last first.
func (q question) reduced(set []growth.PodUID, pause bool) []growth.PodUID {
	for again := true; again; {
		again = false
		for i := len(set) - 1; i >= 0; i-- {
			without := slices.Delete(slices.Clone(set), i, i+1)
			if q.lacking(without, pause) <= tolerance {
				set, again = without, true
			}
		}
	}
	return set
}

// grow adds jobs to a set until it suffices: those that help on their own, or all of them. A job may help only together with others: if
// it is paused, what it leaves is at first due to them.
func (q question) grow(asked []growth.PodUID, pause, helpful bool) (set []growth.PodUID, suffices bool) {
	rest := q.lacking(nil, pause)
	for _, id := range asked {
		if rest <= tolerance {
			break
		}
		with := append(slices.Clone(set), id)
		if after := q.lacking(with, pause); !helpful || after < rest-tolerance {
			set, rest = with, after
		}
	}
	return set, rest <= tolerance
}

// parts divides the work that lacks among the jobs of a set, in proportion to what would lack without each of them.
func (q question) parts(set []growth.PodUID, pause bool) []Way {
	sum := 0.0
	missed := make([]float64, len(set))
	for i := range set {
		missed[i] = q.lacking(slices.Delete(slices.Clone(set), i, i+1), pause)
		sum += missed[i]
	}
	ways := make([]Way, len(set))
	for i, id := range set {
		work := q.lacking(nil, pause) * missed[i] / sum
		ways[i] = Way{ID: id, Work: growth.Work(work), Part: growth.MilliCPU(math.Round(work / q.seconds * float64(growth.Core)))}
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

// lacking returns the work that lacks for a job's deadline, after the deadlines that come before it (byDeadline). These are served as Decide
// serves them.
func (t *instance) lacking(job int) float64 {
	horizon := t.horizon()
	p := t.plan(horizon)
	t.makeFeasible(p)
	for _, i := range t.byDeadline() {
		if i == job {
			return t.dueBy(p, job, t.toDeadline(job), float64(t.jobs[job].Deadline.Work.Likely))
		}
		t.serveDeadline(p, i, horizon)
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
