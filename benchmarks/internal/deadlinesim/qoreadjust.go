package deadlinesim

import (
	"cmp"
	"math"
	"slices"
)

// adjustment is a job to grow or to shrink.
type adjustment struct {
	*plan
	grow bool
	// timeout is the time by which the job will miss its deadline; negative if it will not.
	timeout float64
	// byCost is set if the sizing weighs the time by the resources.
	byCost bool
}

// size is what a job's workers get, and how many there are.
type size struct {
	cpu, memory      float64
	workers, servers int
}

// apply kills the job and creates it again, unless only its CPU and memory change and that is possible in place.
func (q *qore) apply(c *cluster, p *plan, s size) {
	vertical := s.workers == len(p.pods) && s.servers == len(p.running.servers)
	p.cpu, p.workers, p.servers = s.cpu, s.workers, s.servers
	p.changes++
	if vertical && q.rules.inPlace() {
		c.resize(p.running, s)
		return
	}
	c.stop(p.running)
	p.memory = s.memory
	p.restarts++
	p.pausedUntil = c.now + restartSeconds
	q.created = append(q.created, p)
	q.create(c)
}

// resize changes requests and limits of running pods.
func (c *cluster) resize(r *running, s size) {
	c.account(r, -1)
	for i := range r.pods {
		p := &r.pods[i]
		p.request, p.weight, p.quota = s.cpu, s.cpu, s.cpu
	}
	r.memory = s.memory
	c.account(r, 1)
	c.touch(r)
}

// timeouts returns the running jobs with their timeout degrees, in increasing order.
func (q *qore) timeouts(c *cluster) []adjustment {
	var all []adjustment
	for _, r := range c.active {
		p := q.plans[r]
		if r.pausedUntil > c.now {
			continue
		}
		p.workers, p.servers = len(r.pods), len(r.servers)
		all = append(all, adjustment{plan: p, timeout: p.remaining()/float64(p.workers)*p.time(p.cpu) - p.left(c.now)})
	}
	slices.SortStableFunc(all, func(a, b adjustment) int { return cmp.Compare(a.timeout, b.timeout) })
	return all
}

// growSensitivity is the sensitivity of a job to more CPU or one more worker, by the resources that it has.
func growSensitivity(c *cluster, p *plan) float64 {
	w := float64(p.workers)
	per := p.fraction(c, cpuPart) / w
	vertical := p.time(p.cpu) - p.time(p.cpu+p.cpu/w)
	steps := p.remaining() / w
	horizontal := p.time(p.cpu) * (steps - (p.total/(w+1) - p.done/w)) / steps
	return max(vertical, horizontal) / per
}

// shrinkSensitivity is the sensitivity of a job to less CPU or one worker fewer.
func shrinkSensitivity(c *cluster, p *plan) float64 {
	w := float64(p.workers)
	less, horizontal := 0.5*p.cpu, math.Inf(1)
	if w > 1 {
		less = p.cpu - p.cpu/w
		steps := p.remaining() / w
		horizontal = p.time(p.cpu) * ((p.total/(w-1) - p.done/w) - steps) / steps
	}
	vertical := p.time(less) - p.time(p.cpu)
	return min(math.Abs(vertical), math.Abs(horizontal)) / p.fraction(c, cpuPart)
}

// most returns the element with the largest value.
func most(all []adjustment, value func(*plan) float64) adjustment {
	return slices.MaxFunc(all, func(a, b adjustment) int { return cmp.Compare(value(a.plan), value(b.plan)) })
}

// roomFor reports whether every host of a job's workers has room for so much more CPU and memory for each of its workers there.
func (c *cluster) roomFor(r *running, cpu, memory float64) bool {
	loads := c.hostLoads()
	count := map[int]float64{}
	for _, p := range r.pods {
		count[p.host]++
	}
	for host, n := range count {
		h := c.layout.Hosts[host]
		if loads[host].cpu*h.Cores+n*cpu > h.Cores || loads[host].memory*h.Memory+n*memory > h.Memory || !c.fits(host, n*cpu, n*memory) {
			return false
		}
	}
	return true
}

// roomForWorker reports whether another worker and server fit.
func (q *qore) roomForWorker(c *cluster, p *plan) bool {
	for i, l := range c.hostLoads() {
		h := c.layout.Hosts[i]
		if (1-l.cpu)*h.Cores > p.cpu+serverCores && c.fits(i, p.cpu+serverCores, p.memory+serverMemory) {
			return true
		}
	}
	return false
}
