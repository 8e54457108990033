package turn

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Status is what one job does at present, for people.
type Status struct {
	Job   growth.PodUID
	State State
	// Position counts the jobs that wait, in the order in which they are served, from 1. It is 0 for other jobs.
	Position int
	// Quantum is how long the job may hold while others wait. Left is what is left of it, for a job that holds. Jobs that
	// do not compete, because they are idle, have neither.
	Quantum, Left time.Duration
	// Behind is by how much the job has held less than its share, among the jobs that compete with it now. It is negative
	// for a job that has held more.
	Behind time.Duration
}

// String returns a word for the state.
func (s State) String() string {
	return [...]string{"absent", "idle", "waiting", "holding", "stopping", "overdue"}[s]
}

// Order returns the status of a job and of the jobs that use its GPUs: first those that compute, then those that wait, in the
// order in which they are served, then the others.
func (s *Scheduler) Order(now time.Time, of growth.PodUID) []Status {
	s.advance(now)
	subject := s.jobs[of]
	if subject == nil {
		return nil
	}
	var computing, waiting, others []Status
	for _, j := range s.ready() {
		if j == subject || j.conflicts(subject) {
			status := s.status(j)
			status.Position = len(waiting) + 1
			waiting = append(waiting, status)
		}
	}
	for _, j := range s.order {
		switch {
		case j != subject && !j.conflicts(subject):
		case j.computes():
			computing = append(computing, s.status(j))
		case j.state != Ready:
			others = append(others, s.status(j))
		}
	}
	slices.SortStableFunc(computing, func(a, b Status) int { return cmp.Compare(a.Left, b.Left) })
	return slices.Concat(computing, waiting, others)
}

func (s *Scheduler) status(j *job) Status {
	status := Status{Job: j.ID, State: j.state}
	if j.state < Ready || j.Always {
		return status
	}
	status.Quantum = s.quantum(j)
	if j.state == Holding {
		status.Left = max(0, j.until.Sub(s.now))
	}
	// The jobs have their shares exactly where all virtual times equal this mean.
	var shares, weighted float64
	for _, other := range s.order {
		if other.state >= Ready && !other.Always && (other == j || j.conflicts(other)) {
			shares += float64(other.Share)
			weighted += float64(other.Share) * float64(other.virtual)
		}
	}
	if shares > 0 {
		status.Behind = time.Duration(float64(j.Share) * (weighted/shares - float64(j.virtual)))
	}
	return status
}
