package turn

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// advance charges the time since the last step.
func (s *Scheduler) advance(now time.Time) {
	elapsed := now.Sub(s.now)
	if s.now.IsZero() || elapsed < 0 {
		elapsed = 0
	}
	elapsed = min(elapsed, MaxGap)
	if shift := now.Sub(s.now) - elapsed; shift != 0 && !s.now.IsZero() { // the clock has been set
		for _, j := range s.order {
			j.shift(shift)
		}
	}
	s.now = now
	if elapsed == 0 {
		return
	}
	for _, j := range s.order {
		switch {
		case j.computes():
			others, speed := s.company(j)
			j.charge(elapsed, speed, others)
		case j.kept(now.Add(-elapsed)):
			j.keepFor(min(elapsed, j.keep.Sub(now)+elapsed))
		case j.state == Ready:
			j.use.Waited += elapsed
		}
	}
	for _, j := range s.order {
		j.virtual = min(j.virtual, s.least(j)+s.config.Debt)
	}
}

// company returns the jobs that compute on GPUs of a job that computes, and the speed by which it is charged. Next to a job
// of another set it is charged in full, as if it were alone.
func (s *Scheduler) company(j *job) (others []growth.PodUID, speed float64) {
	others = s.others[:0]
	mates, computing, strangers := 0, 0, false
	for _, other := range s.order {
		if !j.overlaps(other) {
			continue
		}
		mate := j.mates(other)
		if mate {
			mates++
		}
		if !other.computes() && (!other.Always || other.state == Idle) {
			continue
		}
		others = append(others, other.ID)
		strangers = strangers || !mate
		if mate {
			computing++
		}
	}
	s.others = others
	if strangers || computing == 0 || !(j.Speed > 0) {
		return others, 1
	}
	return others, 1 / (1 + (1/j.Speed-1)*float64(computing)/float64(mates))
}

// least returns the least virtual time of the jobs that compete with a job, and its own if there are none.
func (s *Scheduler) least(j *job) time.Duration {
	least, found := j.virtual, false
	for _, other := range s.order {
		if other.state >= Ready && !other.Always && j.overlaps(other) && (!found || other.virtual < least) {
			least, found = other.virtual, true
		}
	}
	return least
}

// catchUp limits what a job gets back for a pause.
func (s *Scheduler) catchUp(j *job) {
	j.virtual = max(j.virtual, s.least(j)-s.config.Credit)
}
