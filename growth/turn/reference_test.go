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
		if j.state == turn.Holding && !j.Always && !r.open && r.awaited(j) && (j.left <= 0 || r.preempted(j)) {
			j.state, j.answer = turn.Stopping, r.config.Timeout
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
			j.virtual += time.Duration(float64(elapsed) / max(float64(j.Share), .001))
			if !slices.ContainsFunc(r.rivals(j), func(o *referenceJob) bool { return computes(o) || o.Always && o.state != turn.Idle }) {
				j.use.Alone += elapsed
			}
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
			}
			j.state = turn.Holding
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
			last := slices.MaxFunc(holders, func(a, b *referenceJob) int { return cmp.Compare(a.left, b.left) })
			for _, gpu := range j.GPUs {
				if _, ok := reserved[gpu]; !ok {
					reserved[gpu] = last.left
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
		if left >= r.config.Least {
			j.state, j.left, j.urgent = turn.Holding, left, false
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
			times = append(times, j.left)
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
	return slices.ContainsFunc(r.rivals(j), func(o *referenceJob) bool {
		return o.state == turn.Ready && o.urgent && o.virtual < j.virtual
	})
}

func (r *reference) least(j *referenceJob) time.Duration {
	var others []time.Duration
	for _, o := range r.rivals(j) {
		if !o.Always && (o.state == turn.Ready || computes(o)) {
			others = append(others, o.virtual)
		}
	}
	if len(others) == 0 {
		return j.virtual
	}
	return slices.Min(others)
}

func (r *reference) quantum(j *referenceJob) time.Duration {
	share := max(float64(j.Share), .001)
	all := share
	for _, o := range r.rivals(j) {
		if !o.Always && o.state != turn.Absent {
			all += max(float64(o.Share), .001)
		}
	}
	return max(r.config.Least, time.Duration(share/all*float64(r.config.Period)))
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

// rivals has the other jobs that use one of the GPUs of a job.
func (r *reference) rivals(j *referenceJob) []*referenceJob {
	return slices.DeleteFunc(r.all(), func(o *referenceJob) bool {
		return o == j || !slices.ContainsFunc(o.GPUs, func(gpu growth.GPU) bool { return slices.Contains(j.GPUs, gpu) })
	})
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
