package deadlinesim

import (
	"cmp"
	"math"
	"slices"
)

// assumedSlack is the deadline, in lengths of the job, that Qore-DL is given for a job without one: it knows no such jobs.
const assumedSlack = 10

// left returns the time to the deadline.
func (p *plan) left(now float64) float64 {
	deadline := p.Deadline
	if math.IsInf(deadline, 1) {
		deadline = assumedSlack*p.Law.Time(1)*p.Steps + extra
	}
	return p.Arrival + deadline - now
}

// remaining returns the iterations that the job still has to make.
func (p *plan) remaining() float64 { return p.total - p.done }

// time returns the time of an iteration with a CPU for each worker.
func (p *plan) time(cpu float64) float64 { return p.Law.Time(cpu / p.Peak) }

// configure decides the number of workers and servers for the deadline, at most so many as the cluster's load allows.
func (q *qore) configure(c *cluster, p *plan, most int) {
	load := clusterLoad(c)
	band := func(light, medium, heavy int) int {
		switch {
		case load < 0.4:
			return light
		case load < 0.7:
			return medium
		}
		return heavy
	}
	left := p.left(c.now)
	switch {
	case left <= 0: // overdue
		p.workers = band(3+q.dice.IntN(3), 2+q.dice.IntN(2), 1+q.dice.IntN(2))
	case p.Steps <= 100:
		p.workers = 1
	default:
		need := math.Ceil(p.remaining() * p.time(p.cpu) / left)
		p.workers = int(max(1, min(need, float64(band(most, 4, 2)))))
	}
	p.servers = max(1, int(math.Ceil(float64(p.workers)/float64(band(2, 3, 4)))))
}

// clusterLoad is the CPU load by which Qore-DL chooses its bands.
func clusterLoad(c *cluster) float64 {
	loads := slices.Clone(c.hostLoads())
	used, cores := 0.0, 0.0
	for i, l := range loads { // before they are sorted
		used, cores = used+l.cpu*c.layout.Hosts[i].Cores, cores+c.layout.Hosts[i].Cores
	}
	slices.SortFunc(loads, func(a, b load) int { return cmp.Compare(a.cpu, b.cpu) })
	light := loads[:min(12, len(loads))]
	mean := 0.0
	for _, l := range light {
		mean += l.cpu / float64(len(light))
	}
	return (0.675*mean + 0.325*used/cores) / 0.834
}

// fraction returns the part of the cluster that a job's workers request.
func (p *plan) fraction(c *cluster, cpuPart float64) float64 { return c.fraction(p.present(), cpuPart) }

// fraction returns the part of the cluster that the workers of a size request.
func (c *cluster) fraction(s size, cpuPart float64) float64 {
	cores, memory := 0.0, 0.0
	for _, h := range c.layout.Hosts {
		cores, memory = cores+h.Cores, memory+h.Memory
	}
	return float64(s.workers) * (cpuPart*s.cpu/cores + (1-cpuPart)*s.memory/memory)
}

// literalPriority is that of the code. For an overdue job left is negative, and the preference for small or large jobs inverts. The
// noise is in milli-CPUs and megabytes, not in the unit of the rest.
func literalPriority(q *qore, c *cluster, p *plan, load float64) float64 {
	left, size := p.left(c.now), p.fraction(c, 0.75)
	if load >= 0.4 {
		return -left * size
	}
	value := -left / size
	if q.dice.Float64() < 0.1 {
		value -= 0.1 * float64(p.workers) * (0.75*1000*p.cpu + 0.25*1000*p.memory)
	}
	return value
}

// repairedPriority prefers urgent jobs, of equally urgent ones large ones under light load and small ones otherwise. A job that is
// more overdue comes first, with the same preference for its size.
func repairedPriority(c *cluster, p *plan, load float64) float64 {
	left, size := p.left(c.now), p.fraction(c, 0.75)
	if load < 0.4 {
		size = 1 / size
	}
	if left < 0 {
		return -left / size
	}
	return -left * size
}
