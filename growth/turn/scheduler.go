package turn

import (
	"cmp"
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

// maxGap bounds the time that is charged between two events, so that a clock that is set does no harm. Woken comes sooner
// wherever a job waits.
const maxGap = 30 * time.Second

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

// advance charges the time since the last step.
func (s *Scheduler) advance(now time.Time) {
	elapsed := now.Sub(s.now)
	if s.now.IsZero() || elapsed < 0 {
		elapsed = 0
	}
	elapsed = min(elapsed, maxGap)
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
			j.age(min(elapsed, j.keep.Sub(now)+elapsed))
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
