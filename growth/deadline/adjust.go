package deadline

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Bands are the loads of the paper at which the decision changes. The load is the used part of the resource.
type Bands struct {
	// Idle is θ1: at most this load, jobs grow although none is late.
	Idle growth.Share
	// Busy is θ2: above this load, late jobs grow at the expense of others.
	Busy growth.Share
	// Full is θ3: above this load, jobs give way although none is late.
	Full growth.Share
}

// PaperBands are the values of the paper.
func PaperBands() Bands { return Bands{Idle: 0.35, Busy: 0.55, Full: 0.70} }

// Case is one of the four cases of the paper.
type Case int

// The cases, and none of them.
const (
	Settled Case = iota
	LateWithRoom
	LateWithoutRoom
	Idle
	Full
)

// Job is a job before an adjustment.
type Job struct {
	Name string
	// ToDeadline is the time to the deadline; +Inf for a job without one.
	ToDeadline growth.Seconds
	// Latest is the latest time at which the job may end if it gives way, such as the time under fair sharing plus the bound on harm. It
	// applies next to the deadline. 0 means that only the deadline applies.
	Latest growth.Seconds
	// Now is how the job runs at present, Options are the other ways.
	Now     Option
	Options []Option
}

// degree returns the timeout degree at present.
func (j Job) degree() Degree { return DegreeOf(j.Now.Time, j.ToDeadline) }

// bound returns the time until which the job must end if it gives way.
func (j Job) bound() growth.Seconds {
	if j.Latest > 0 {
		return min(j.ToDeadline, j.Latest)
	}
	return j.ToDeadline
}

// Change is a job and the option to which it should change.
type Change struct {
	Job    Job
	To     Option
	Degree Degree // at present
	// Sensitivity is that of the job: of its most sensitive option if it grows, of its least sensitive one if it gives way.
	Sensitivity float64
}

// Adjustment is a decision about jobs that share a resource.
type Adjustment struct {
	Case Case
	// Grow are the jobs that should grow, the most sensitive first. Shrink are those that should give way, the least sensitive first.
	Grow, Shrink []Change
}

// Adjust decides which jobs grow and which give way.
func Adjust(b Bands, load growth.Share, jobs []Job) Adjustment {
	var late, others []Job
	for _, j := range jobs {
		if j.degree().Late() {
			late = append(late, j)
		} else {
			others = append(others, j)
		}
	}
	switch {
	case len(late) > 0 && load <= b.Busy:
		return Adjustment{Case: LateWithRoom, Grow: growing(late)}
	case len(late) > 0:
		return Adjustment{Case: LateWithoutRoom, Grow: growing(late), Shrink: givingWay(others)}
	case load <= b.Idle:
		return Adjustment{Case: Idle, Grow: growing(others)}
	case load > b.Full:
		return Adjustment{Case: Full, Shrink: givingWay(others)}
	}
	return Adjustment{}
}

// growing returns the jobs for which an option with more of the resource saves time.
func growing(jobs []Job) []Change {
	var changes []Change
	for _, j := range jobs {
		more := slices.DeleteFunc(slices.Clone(j.Options), func(o Option) bool {
			return !o.valid() || o.Resource <= j.Now.Resource || Sensitivity(j.Now, o) <= 0
		})
		to, found := InTime(more, j.ToDeadline)
		if !j.degree().Late() {
			to, found = Best(more, func(o Option) float64 { return Sensitivity(j.Now, o) })
		}
		if !found {
			continue
		}
		c := Change{Job: j, To: to, Degree: j.degree()}
		for _, o := range more {
			c.Sensitivity = max(c.Sensitivity, Sensitivity(j.Now, o))
		}
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Sensitivity, a.Sensitivity), cmp.Compare(a.Job.Name, b.Job.Name))
	})
	return changes
}

// givingWay returns the jobs with an option with less of the resource with which they still end in time.
func givingWay(jobs []Job) []Change {
	var changes []Change
	for _, j := range jobs {
		least := math.Inf(1)
		to, found := Best(j.Options, func(o Option) float64 {
			if !(o.Resource < j.Now.Resource) || !(o.end().High <= j.bound()) {
				return math.NaN()
			}
			lost := max(Sensitivity(j.Now, o), 0)
			least = min(least, lost)
			return -lost
		})
		if found {
			changes = append(changes, Change{Job: j, To: to, Degree: j.degree(), Sensitivity: least})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Sensitivity, b.Sensitivity), cmp.Compare(a.Job.Name, b.Job.Name))
	})
	return changes
}
