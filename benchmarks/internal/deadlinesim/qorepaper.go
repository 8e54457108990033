package deadlinesim

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
)

// qorePaper is Qore-DL as its paper describes it: the four cases by load bands, and the best of all sizes by enumeration, both from
// growth/deadline. The queue has the repaired priority, and a job that does not fit delays no other.
type qorePaper struct {
	// resizes is set if CPU and memory change in place. The paper kills and creates the job.
	resizes bool
}

func (qorePaper) priority(_ *qore, c *cluster, p *plan, load float64) float64 {
	return repairedPriority(c, p, load)
}

func (qorePaper) skips() bool { return true }

func (r qorePaper) inPlace() bool { return r.resizes }

// adjust implements the paper's cases: it takes from the least sensitive job what the most sensitive late one gets.
func (r qorePaper) adjust(q *qore, c *cluster) {
	jobs, sizes := []deadline.Job{}, map[string]map[string]size{}
	plans := map[string]*plan{}
	for _, a := range q.timeouts(c) {
		name := fmt.Sprint(a.index)
		plans[name] = a.plan
		j := deadline.Job{
			Name:       name,
			ToDeadline: growth.Seconds(a.left(c.now)),
			Now:        a.option(c, "now", a.present(), 0),
		}
		sizes[name] = map[string]size{}
		for option, s := range r.sizes(q, c, a) {
			sizes[name][option] = s
			j.Options = append(j.Options, a.option(c, option, s, r.restart(a, s)))
		}
		jobs = append(jobs, j)
	}
	load := growth.Share(weighted(c.hostLoads()))
	decision := deadline.Adjust(deadline.PaperBands(), load, jobs)
	apply := func(change deadline.Change) {
		q.apply(c, plans[change.Job.Name], sizes[change.Job.Name][change.To.Name])
	}
	switch decision.Case {
	case deadline.LateWithRoom:
		for _, change := range decision.Grow {
			if s := sizes[change.Job.Name][change.To.Name]; c.allows(q, plans[change.Job.Name], s) {
				apply(change)
			}
		}
	default: // at most one of each
		for _, change := range decision.Shrink[:min(1, len(decision.Shrink))] {
			apply(change)
		}
		for _, change := range decision.Grow[:min(1, len(decision.Grow))] {
			if s := sizes[change.Job.Name][change.To.Name]; c.allows(q, plans[change.Job.Name], s) {
				apply(change)
			}
		}
	}
}

// restart returns the time that a change takes.
func (r qorePaper) restart(a adjustment, s size) growth.Seconds {
	if r.resizes && s.workers == a.workers {
		return 0
	}
	return restartSeconds
}

// sizesEach is the number of sizes of the CPU in each direction: the paper codes it in four bits. The size of the memory changes no
// time, so the enumeration need not vary it: a growing job keeps its memory, a shrinking one gives what it can.
const sizesEach = 16

// sizes enumerates the sizes that the hosts have room for.
func (r qorePaper) sizes(q *qore, c *cluster, a adjustment) map[string]size {
	all := map[string]size{}
	for x := range sizesEach {
		for _, a := range []adjustment{grow(a, false), shrink(a)} {
			if s := a.candidate(x, 0, sizesEach); s.cpu != a.cpu && c.allows(q, a.plan, s) {
				all[fmt.Sprintf("%t %02d", a.grow, x)] = s
			}
		}
	}
	if s := a.withWorker(); a.workers < mostWorkers && c.allows(q, a.plan, s) {
		all["one more worker"] = s
	}
	return all
}

// allows reports whether the hosts have room for a size.
func (c *cluster) allows(q *qore, p *plan, s size) bool {
	if s.workers > p.workers {
		return q.roomForWorker(c, p)
	}
	return c.roomFor(p.running, s.cpu-p.cpu, s.memory-p.memory)
}

func (p *plan) present() size {
	return size{
		cpu:     p.cpu,
		memory:  p.memory,
		workers: p.workers,
		servers: p.servers,
	}
}

func (a adjustment) option(c *cluster, name string, s size, restart growth.Seconds) deadline.Option {
	return deadline.Option{
		Name:     name,
		Resource: c.fraction(s, cpuPart),
		Time:     deadline.Certain(growth.Seconds(math.Max(0, a.remaining()/float64(s.workers)*a.time(s.cpu)))),
		Restart:  restart,
	}
}
