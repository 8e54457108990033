package turn

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// quantum returns the part of Period that a job, or its set, has among those that compete with it.
func (s *Scheduler) quantum(j *job) time.Duration {
	own, total := j.need(), 0.0
	sets := map[int]float64{}
	for _, other := range s.order {
		switch {
		case other.state == Absent || other.Always:
		case j.mates(other):
			own = max(own, other.need())
		case !j.overlaps(other):
		case other.Set != 0:
			if more := other.need() - sets[other.Set]; more > 0 {
				total += more
				sets[other.Set] = other.need()
			}
		default:
			total += other.need()
		}
	}
	return max(s.config.Least, j.Least, time.Duration(own/(own+total)*float64(s.config.Period)))
}

// ready returns the jobs that wait, the one with the least virtual time first.
func (s *Scheduler) ready() []*job {
	var ready []*job
	for _, j := range s.order {
		if j.state == Ready {
			ready = append(ready, j)
		}
	}
	slices.SortStableFunc(ready, func(a, b *job) int { return cmp.Compare(a.virtual, b.virtual) })
	return ready
}

// grant gives the turn to ready jobs whose GPUs are free.
func (s *Scheduler) grant() {
	reserved := map[growth.GPU]time.Time{} // GPUs of jobs that wait for others, and when the quanta of the others end
	for _, j := range s.ready() {
		until := s.now.Add(s.quantum(j))
		if ends, blocked := s.blocked(j); blocked && !s.open && !j.Always {
			for _, gpu := range j.GPUs {
				if _, ok := reserved[gpu]; !ok {
					reserved[gpu] = ends
				}
			}
			continue
		}
		for _, gpu := range j.GPUs {
			if ends, ok := reserved[gpu]; ok && ends.Before(until) {
				until = ends
			}
		}
		if ends := s.ends(j, time.Time{}); ends.After(s.now) && ends.Before(until) {
			until = ends // of the set's turn
		}
		if until.Before(s.now.Add(s.config.Least)) {
			continue
		}
		j.state, j.until, j.urgent, j.taken = Holding, until, false, 0
		s.out.Grant = append(s.out.Grant, j.ID)
	}
}

// blocked returns when the quanta of the jobs end that keep a ready job from its GPUs, and whether there are any.
func (s *Scheduler) blocked(j *job) (ends time.Time, blocked bool) {
	for _, other := range s.order {
		if (other.blocks() || other.kept(s.now)) && j.conflicts(other) {
			blocked = true
			if until := s.ends(other, other.until); until.After(ends) {
				ends = until
			}
		}
	}
	return ends, blocked
}

// ends returns the later of a time and the end of the turn of the job's set.
func (s *Scheduler) ends(j *job, at time.Time) time.Time {
	for _, other := range s.order {
		if other.state == Holding && j.mates(other) && other.until.After(at) {
			at = other.until
		}
	}
	return at
}

// revoke ends the turns that keep a job waiting, if their quantum is over or that job must not wait for it.
func (s *Scheduler) revoke() {
	for _, j := range s.order {
		if j.state != Holding || j.Always || s.open || !s.awaited(j) || s.ends(j, j.until).After(s.now) && !s.preempted(j) {
			continue
		}
		j.state, j.asked, j.answer = Stopping, s.now, s.now.Add(s.config.Timeout>>j.taken)
		s.out.Revoke = append(s.out.Revoke, j.ID)
	}
}

// awaited reports whether another job needs a GPU of the job. Of two jobs that hold the same GPU, because one of them has
// just connected or the plan has changed, the one whose quantum ends last continues.
func (s *Scheduler) awaited(j *job) bool {
	return slices.ContainsFunc(s.order, func(other *job) bool {
		if other.Always || !j.conflicts(other) {
			return false
		}
		first := cmp.Or(j.until.Compare(other.until), cmp.Compare(other.virtual, j.virtual), cmp.Compare(other.ID, j.ID)) < 0
		return other.state == Ready || other.state == Holding && first
	})
}

// preempted reports whether a job that was idle, and is behind the whole set, needs a GPU of the job. Such a job uses its GPU for a few
// steps and then waits for data: a wait for a whole quantum each time would cost it far more than plain sharing.
func (s *Scheduler) preempted(j *job) bool {
	if j.Least > s.config.Least {
		return false
	}
	virtual := j.virtual
	for _, other := range s.order {
		if other.state == Holding && j.mates(other) {
			virtual = min(virtual, other.virtual)
		}
	}
	return slices.ContainsFunc(s.order, func(other *job) bool {
		return other.state == Ready && other.urgent && other.virtual < virtual && j.conflicts(other)
	})
}
