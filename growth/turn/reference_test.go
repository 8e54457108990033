package turn_test

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// reference is a second implementation of the rules of package turn. It looks at each pair of jobs, one rule after the
// other, and counts the time that is left instead of times at which something ends.
type reference struct {
	config turn.Config
	jobs   map[growth.PodUID]*referenceJob
	open   bool
	now    time.Time
}

type referenceJob struct {
	turn.Job
	state   turn.State
	use     turn.Use
	virtual time.Duration
	left    time.Duration // of the quantum
	answer  time.Duration // left for the answer to a Revoke
	urgent  bool
	taken   int
}

func newReference(config turn.Config) *reference {
	return &reference{config: config, jobs: map[growth.PodUID]*referenceJob{}}
}

func (r *reference) Step(now time.Time, e turn.Event) (effects turn.Effects) {
	r.pass(now)
	r.apply(e)
	for _, j := range r.all() {
		if j.state == turn.Stopping && j.answer <= 0 {
			j.state = turn.Overdue
			effects.Overdue = append(effects.Overdue, j.ID)
		}
	}
	for _, j := range r.all() {
		if j.state == turn.Holding && !j.Always && !r.open && r.awaited(j) && (r.left(j) <= 0 || r.preempted(j)) {
			j.state, j.answer = turn.Stopping, r.config.Timeout>>j.taken
			effects.Revoke = append(effects.Revoke, j.ID)
		}
	}
	effects.Grant = r.grant()
	effects.Wake = r.wake()
	return effects
}

// pass lets time pass: at most half a minute, however far the clock is set.
func (r *reference) pass(now time.Time) {
	elapsed := min(max(now.Sub(r.now), 0), 30*time.Second)
	if r.now.IsZero() {
		elapsed = 0
	}
	r.now = now
	for _, j := range r.all() {
		j.left -= elapsed
		j.answer -= elapsed
		if computes(j) {
			j.use.Held += elapsed
			r.charge(j, elapsed)
		}
		if j.state == turn.Ready {
			j.use.Waited += elapsed
		}
	}
	if elapsed > 0 {
		for _, j := range r.all() {
			j.virtual = min(j.virtual, r.least(j)+r.config.Debt)
		}
	}
}

// charge adds time that a job has computed, next to those that computed as well.
func (r *reference) charge(j *referenceJob, elapsed time.Duration) {
	active := func(o *referenceJob) bool { return computes(o) || o.Always && o.state != turn.Idle }
	speed := 1.0
	if mates := r.mates(j); len(mates) > 0 && j.Speed > 0 && !slices.ContainsFunc(r.rivals(j), active) {
		several := len(slices.DeleteFunc(slices.Clone(mates), func(o *referenceJob) bool { return !active(o) }))
		if several > 0 {
			speed = 1 / (1 + (1/j.Speed-1)*float64(several)/float64(len(mates)))
		}
	}
	j.virtual += time.Duration(speed * float64(elapsed) / max(float64(j.Share), .001))
	if elapsed == 0 {
		return
	}
	var others []growth.PodUID
	for _, o := range r.neighbours(j) {
		if active(o) {
			others = append(others, o.ID)
		}
	}
	if len(others) == 0 {
		j.use.Alone += elapsed
		return
	}
	for i, t := range j.use.Together {
		if slices.Equal(t.Others, others) {
			j.use.Together[i].Held += elapsed
			return
		}
	}
	j.use.Together = append(j.use.Together, turn.Together{Others: others, Held: elapsed})
}

func (r *reference) apply(e turn.Event) {
	switch e := e.(type) {
	case turn.Planned:
		r.plan(e)
	case turn.Opened:
		if j := r.jobs[e.Job]; j != nil && !computes(j) {
			j.virtual = max(j.virtual, r.least(j)-r.config.Credit)
			j.left = r.quantum(j)
			if len(r.blocking(j)) > 0 {
				j.left = 0
				if j.use.Held > 0 && j.taken < 8 {
					j.taken++
				}
			}
			j.state = turn.Holding
		}
	case turn.Asked:
		if j := r.jobs[e.Job]; j != nil && j.state == turn.Overdue {
			j.state, j.left = turn.Holding, 0
		}
	case turn.Waits:
		if j := r.jobs[e.Job]; j != nil && j.state != turn.Ready {
			if j.state == turn.Absent || j.state == turn.Idle {
				j.virtual = max(j.virtual, r.least(j)-r.config.Credit)
				j.urgent = true
			}
			j.state = turn.Ready
		}
	case turn.Pauses:
		if j := r.jobs[e.Job]; j != nil {
			j.state = turn.Idle
		}
	case turn.Left:
		if j := r.jobs[e.Job]; j != nil {
			j.state = turn.Absent
		}
	}
}

func (r *reference) plan(e turn.Planned) {
	before := r.jobs
	r.open, r.jobs = e.Open, map[growth.PodUID]*referenceJob{}
	for _, planned := range e.Jobs {
		r.jobs[planned.ID] = &referenceJob{}
		if j := before[planned.ID]; j != nil {
			r.jobs[planned.ID] = j
		}
		r.jobs[planned.ID].Job = planned
	}
	for _, j := range r.all() {
		if before[j.ID] == nil {
			j.virtual = r.least(j)
		}
	}
}

// grant serves the ready jobs in their order. A job that cannot be served reserves its GPUs until the last of the quanta
// that keep it from them: others use a reserved GPU in the meantime only.
func (r *reference) grant() (granted []growth.PodUID) {
	reserved := map[growth.GPU]time.Duration{}
	for _, j := range r.queue() {
		holders := r.blocking(j)
		if len(holders) > 0 && !r.open && !j.Always {
			last := r.left(slices.MaxFunc(holders, func(a, b *referenceJob) int { return cmp.Compare(r.left(a), r.left(b)) }))
			for _, gpu := range j.GPUs {
				if _, ok := reserved[gpu]; !ok {
					reserved[gpu] = last
				}
			}
			continue
		}
		left := r.quantum(j)
		for _, gpu := range j.GPUs {
			if until, ok := reserved[gpu]; ok {
				left = min(left, until)
			}
		}
		of := time.Duration(0) // the turn of its set
		for _, mate := range r.mates(j) {
			if mate.state == turn.Holding {
				of = max(of, mate.left)
			}
		}
		if of > 0 {
			left = min(left, of)
		}
		if left >= r.config.Least {
			j.state, j.left, j.urgent, j.taken = turn.Holding, left, false, 0
			granted = append(granted, j.ID)
		}
	}
	return granted
}

func (r *reference) wake() (at time.Time) {
	var times []time.Duration
	for _, j := range r.all() {
		if j.state == turn.Stopping {
			times = append(times, j.answer)
		}
		if j.state == turn.Holding && !j.Always && !r.open && r.awaited(j) {
			times = append(times, r.left(j))
		}
	}
	if len(times) == 0 {
		return time.Time{}
	}
	return r.now.Add(slices.Min(times))
}

func (r *reference) awaited(j *referenceJob) bool {
	return slices.ContainsFunc(r.rivals(j), func(o *referenceJob) bool {
		if o.Always {
			return false
		}
		ends := cmp.Or(cmp.Compare(j.left, o.left), cmp.Compare(o.virtual, j.virtual), cmp.Compare(o.ID, j.ID))
		return o.state == turn.Ready || o.state == turn.Holding && ends < 0
	})
}

func (r *reference) preempted(j *referenceJob) bool {
	behind := j.virtual
	for _, mate := range r.mates(j) {
		if mate.state == turn.Holding {
			behind = min(behind, mate.virtual)
		}
	}
	return slices.ContainsFunc(r.rivals(j), func(o *referenceJob) bool {
		return o.state == turn.Ready && o.urgent && o.virtual < behind
	})
}

func (r *reference) least(j *referenceJob) time.Duration {
	var others []time.Duration
	for _, o := range r.neighbours(j) {
		if !o.Always && (o.state == turn.Ready || computes(o)) {
			others = append(others, o.virtual)
		}
	}
	if len(others) == 0 {
		return j.virtual
	}
	return slices.Min(others)
}

// quantum is the part of the period that a job has with its set. A set needs as much time as the member that needs most.
func (r *reference) quantum(j *referenceJob) time.Duration {
	need := func(o *referenceJob) float64 {
		if o.Set > 0 && o.Speed > 0 {
			return max(float64(o.Share), .001) / o.Speed
		}
		return max(float64(o.Share), .001)
	}
	own := need(j)
	others, sets := 0.0, map[int]float64{}
	for _, o := range r.neighbours(j) {
		switch {
		case o.Always || o.state == turn.Absent:
		case o.Set > 0 && o.Set == j.Set:
			own = max(own, need(o))
		case o.Set > 0 && sets[o.Set] >= need(o):
		default:
			others += need(o) - sets[o.Set]
			if o.Set > 0 {
				sets[o.Set] = need(o)
			}
		}
	}
	return max(r.config.Least, time.Duration(own/(own+others)*float64(r.config.Period)))
}

// left is what is left of the turn of a job that holds, or of its set.
func (r *reference) left(j *referenceJob) time.Duration {
	left := j.left
	for _, mate := range r.mates(j) {
		if mate.state == turn.Holding {
			left = max(left, mate.left)
		}
	}
	return left
}

// queue has the ready jobs by their virtual time, then by their ID.
func (r *reference) queue() []*referenceJob {
	queue := slices.DeleteFunc(r.all(), func(j *referenceJob) bool { return j.state != turn.Ready })
	slices.SortStableFunc(queue, func(a, b *referenceJob) int { return cmp.Compare(a.virtual, b.virtual) })
	return queue
}

// blocking has the jobs that keep a job from one of its GPUs.
func (r *reference) blocking(j *referenceJob) []*referenceJob {
	return slices.DeleteFunc(r.rivals(j), func(o *referenceJob) bool {
		return o.Always || o.state != turn.Holding && o.state != turn.Stopping
	})
}

// neighbours has the other jobs that use one of the GPUs of a job.
func (r *reference) neighbours(j *referenceJob) []*referenceJob {
	return slices.DeleteFunc(r.all(), func(o *referenceJob) bool {
		return o == j || !slices.ContainsFunc(o.GPUs, func(gpu growth.GPU) bool { return slices.Contains(j.GPUs, gpu) })
	})
}

// mates has the neighbours of the same set, rivals the others.
func (r *reference) mates(j *referenceJob) []*referenceJob {
	return slices.DeleteFunc(r.neighbours(j), func(o *referenceJob) bool { return o.Set == 0 || o.Set != j.Set })
}

func (r *reference) rivals(j *referenceJob) []*referenceJob {
	return slices.DeleteFunc(r.neighbours(j), func(o *referenceJob) bool { return o.Set > 0 && o.Set == j.Set })
}

func (r *reference) all() (all []*referenceJob) {
	for _, id := range slices.Sorted(maps.Keys(r.jobs)) {
		all = append(all, r.jobs[id])
	}
	return all
}

func computes(j *referenceJob) bool {
	return j.state == turn.Holding || j.state == turn.Stopping || j.state == turn.Overdue
}
