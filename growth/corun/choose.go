package corun

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// Margin is the least relative gain of a larger set.
	Margin = 0.05
	// MaxLoss is the largest part of its work that a job loses by sets.
	MaxLoss = 0.05
	// plainMargin is the gain of plain sharing over sets from which jobs take no turns.
	plainMargin = 0.02
	// MaxSet bounds the jobs of a set.
	MaxSet = 8
)

// Job is a job on a GPU, with its share in turns.
type Job struct {
	Kind  Kind
	Share growth.Share
}

// Choice says which jobs hold the turn together.
type Choice struct {
	// Sets has the jobs of each set, by index. A job that holds the turn alone is in none.
	Sets [][]int
	// Speeds has the speed of each job in its set; 1 for a job alone.
	Speeds []float64
	// Work is the work of all jobs per second, Plain that of plain sharing, in GPU-seconds on each GPU. Both are 1 where
	// nothing is known.
	Work, Plain float64
}

// PlainIsBetter reports whether jobs do more if all of them compute at the same time.
func (c Choice) PlainIsBetter() bool { return c.Plain > (1+plainMargin)*c.Work }

// PaysOverPlain reports whether jobs do more in turns with sets.
func (c Choice) PaysOverPlain() bool { return c.Work >= (1+Margin)*c.Plain }

// Choose returns the sets of jobs that have the same GPUs. rest is the share of other jobs there.
func Choose(t *Table, jobs []Job, rest growth.Share) Choice {
	p := partition{table: t, jobs: jobs, rest: float64(rest)}
	for i := range jobs {
		p.sets = append(p.sets, []int{i})
	}
	for p.merge() {
	}
	c := Choice{Speeds: make([]float64, len(jobs)), Work: p.work(p.sets), Plain: p.plain()}
	for _, set := range p.sets {
		speeds, _ := p.speeds(set)
		for k, i := range set {
			c.Speeds[i] = speeds[k]
		}
		if len(set) > 1 {
			c.Sets = append(c.Sets, set)
		}
	}
	return c
}

// Plain returns the work of all jobs per second under plain sharing, in GPU-seconds on each GPU; 1 if it was not measured.
func Plain(t *Table, jobs []Job) float64 {
	p := partition{table: t, jobs: jobs}
	return p.plain()
}

// partition divides jobs into sets.
type partition struct {
	table *Table
	jobs  []Job
	rest  float64
	sets  [][]int
}

// speeds returns the speed of each job of a set.
func (p *partition) speeds(set []int) (speeds []float64, known bool) {
	for _, i := range set {
		speed, ok := p.speed(i, set)
		if !ok {
			return nil, false
		}
		speeds = append(speeds, speed)
	}
	return speeds, true
}

// speed returns the speed of a job of a set; 0 if it is not known.
func (p *partition) speed(job int, set []int) (speed float64, known bool) {
	others := p.others(job, set)
	s, known := p.table.Predict(p.jobs[job].Kind, others)
	switch {
	case !known:
		return 0, false
	case len(others) == 0:
		return s.Mean, true
	}
	return s.Cautious(), true
}

// others returns the kinds of the other jobs of a set.
func (p *partition) others(job int, set []int) []Kind {
	others := make([]Kind, 0, len(set)-1)
	for _, other := range set {
		if other != job {
			others = append(others, p.jobs[other].Kind)
		}
	}
	return others
}

// time returns the time that all sets need for the shares.
func (p *partition) time(sets [][]int) float64 {
	sum := p.rest
	for _, set := range sets {
		need, _ := p.need(set)
		sum += need
	}
	return sum
}

// need returns the time that a set needs, and the sum of its speeds.
func (p *partition) need(set []int) (need, sum float64) {
	speeds, _ := p.speeds(set)
	for k, i := range set {
		need = max(need, max(float64(p.jobs[i].Share), 1e-6)/speeds[k])
		sum += speeds[k]
	}
	return need, sum
}

// work returns the work of all jobs per second.
func (p *partition) work(sets [][]int) float64 {
	work := p.rest
	for _, set := range sets {
		need, sum := p.need(set)
		work += need * sum
	}
	return work / p.time(sets)
}

// merge merges the two sets that gain most. It returns false if no two gain enough.
func (p *partition) merge() bool {
	before := p.work(p.sets)
	best, most := [][]int(nil), before+Margin
	for a := range p.sets {
		for b := range a {
			merged := slices.Concat(p.sets[b], p.sets[a])
			slices.Sort(merged)
			if _, known := p.speeds(merged); !known || len(merged) > MaxSet {
				continue
			}
			sets := slices.Delete(slices.Clone(p.sets), a, a+1)
			sets[b] = merged
			if work := p.work(sets); work > most && p.time(sets) <= p.time(nil)+p.budget() {
				best, most = sets, work
			}
		}
	}
	if best == nil {
		return false
	}
	p.sets = best
	return true
}

// budget returns the time that all sets may need, so that no job loses more than MaxLoss.
func (p *partition) budget() float64 {
	sum := 0.0
	for _, j := range p.jobs {
		sum += float64(j.Share)
	}
	return sum + (p.rest+sum)*MaxLoss/(1-MaxLoss)
}

// plain returns the work per second if all jobs compute at the same time; 1 if it is not known. If the speeds of two jobs are
// known, the others are assumed to be like them. A job is at least as fast as it was next to more jobs.
func (p *partition) plain() float64 {
	sum, measured := 0.0, 0
	for i := range p.jobs {
		speed, known := p.speed(i, p.all())
		if !known && len(p.jobs) > 1 {
			speed, known = p.table.AtLeast(p.jobs[i].Kind, p.others(i, p.all()))
		}
		if known {
			sum += speed
			measured++
		}
	}
	if p.rest > 0 || measured < min(2, len(p.jobs)) {
		return 1
	}
	return max(sum*float64(len(p.jobs))/float64(measured), least)
}

// all returns the set of all jobs.
func (p *partition) all() []int {
	all := make([]int, len(p.jobs))
	for i := range all {
		all[i] = i
	}
	return all
}
