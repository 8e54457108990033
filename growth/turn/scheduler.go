package turn

import (
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Config has the times of a Scheduler.
type Config struct {
	// Period is the time in which each of the jobs that compete has one quantum. A quantum is at least Least.
	Period, Least time.Duration
	// Timeout is the time in which a job must answer a Revoke.
	Timeout time.Duration
	// Credit and Debt bound how far a job is behind and ahead of the others, in virtual time.
	Credit, Debt time.Duration
	// Keep bounds the pause in which the GPUs are kept for a job.
	Keep time.Duration
}

// Default suits steps of milliseconds to seconds. A shorter Period follows the shares more closely and switches more often.
var Default = Config{
	Period:  time.Second,
	Least:   20 * time.Millisecond,
	Timeout: 5 * time.Second,
	Credit:  2 * time.Second,
	Debt:    20 * time.Second,
	Keep:    20 * time.Millisecond,
}

// MaxGap bounds the time that is charged between two events, so that a clock that is set does no harm. Where no job waits,
// Effects.Wake is zero: the caller must send Woken more often than this all the same.
const MaxGap = 30 * time.Second

// Scheduler decides which jobs of a group of GPUs compute. It is not safe for concurrent use.
type Scheduler struct {
	config Config
	jobs   map[growth.PodUID]*job
	order  []*job // by ID
	open   bool
	others []growth.PodUID // scratch space of company
	now    time.Time       // of the current step; zero before the first
	out    Effects
}

// New returns a scheduler without jobs.
func New(config Config) *Scheduler {
	return &Scheduler{config: config, jobs: map[growth.PodUID]*job{}}
}

// Step applies an event and returns the effects that the caller must execute.
func (s *Scheduler) Step(now time.Time, e Event) Effects {
	s.advance(now)
	s.out = Effects{}
	e.apply(s)
	s.expire()
	s.revoke()
	s.grant()
	s.out.Wake = s.wake()
	return s.out
}

// Use returns what the jobs have used until now.
func (s *Scheduler) Use(now time.Time) map[growth.PodUID]Use {
	s.advance(now)
	uses := make(map[growth.PodUID]Use, len(s.order))
	for _, j := range s.order {
		use := j.use
		use.Together = slices.Clone(use.Together)
		uses[j.ID] = use
	}
	return uses
}

// UseOf returns what a job has used until now, without Together.
func (s *Scheduler) UseOf(now time.Time, id growth.PodUID) Use {
	s.advance(now)
	j := s.jobs[id]
	if j == nil {
		return Use{}
	}
	use := j.use
	use.Together = nil
	return use
}

// State returns the state of a job.
func (s *Scheduler) State(id growth.PodUID) State {
	if j := s.jobs[id]; j != nil {
		return j.state
	}
	return Absent
}

// Queue returns the jobs that wait, in the order in which they are served.
func (s *Scheduler) Queue() []growth.PodUID {
	var queue []growth.PodUID
	for _, j := range s.ready() {
		queue = append(queue, j.ID)
	}
	return queue
}

func (s *Scheduler) plan(jobs []Job, open bool) {
	s.open = open
	before := s.jobs
	s.jobs = make(map[growth.PodUID]*job, len(jobs))
	for _, planned := range jobs {
		j := before[planned.ID]
		if j == nil {
			j = &job{}
		}
		j.Job = planned
		s.jobs[planned.ID] = j
	}
	s.order = s.order[:0]
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		s.order = append(s.order, s.jobs[id])
	}
	for _, j := range s.order {
		if before[j.ID] == nil {
			j.virtual = s.least(j)
		}
	}
}

// expire gives up on jobs that do not answer.
func (s *Scheduler) expire() {
	for _, j := range s.order {
		if j.state == Stopping && !j.answer.After(s.now) {
			j.state = Overdue
			s.out.Overdue = append(s.out.Overdue, j.ID)
		}
	}
}

// wake returns the earliest time at which a quantum or the wait for an answer ends.
func (s *Scheduler) wake() (at time.Time) {
	earliest := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for _, j := range s.order {
		switch {
		case j.state == Stopping:
			earliest(j.answer)
		case j.state == Holding && !j.Always && !s.open && s.awaited(j):
			earliest(s.ends(j, j.until))
		case j.kept(s.now):
			earliest(j.keep)
		}
	}
	return at
}
