package deadlinesim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Qore-DL's clock: a tick, and the ticks between two rounds of submission and of adjustment. An adjustment has two passes.
const (
	tick           = 26.2
	submitTicks    = 9
	adjustTicks    = 11
	betweenPasses  = 27.0
	restartSeconds = 25.0 // from the kill to the first iteration, as in its code
	maxBuffer      = 38
	maxTries       = 3
)

// plan is what Qore-DL has decided for a job that does not run.
type plan struct {
	*running
	workers, servers int
	cpu              float64 // of each worker
	tries            int
}

// qore is Qore-DL: configurator, queue, placement and adjuster.
type qore struct {
	rules qoreRules
	dice  *rand.Rand
	plans map[*running]*plan
	// seen is the number of jobs that have arrived.
	seen int
	// outside are jobs that wait because the buffer is full. next are jobs that did not fit.
	outside, buffer, next []*plan
	// created are jobs whose pods wait for the default scheduler.
	created                  []*plan
	submitAt, adjustAt, pass float64
}

// qoreRules are what the code and the paper do differently.
type qoreRules interface {
	// priority of a job in the buffer under this load of the cluster; the largest is first.
	priority(q *qore, c *cluster, p *plan, load float64) float64
	// skips reports whether jobs start that fit, behind one that does not.
	skips() bool
	// adjust changes the sizes of running jobs.
	adjust(q *qore, c *cluster)
	// inPlace is set if CPU and memory change without a restart.
	inPlace() bool
}

func newQore(rules qoreRules, seed uint64) *qore {
	return &qore{
		rules: rules,
		dice:  rand.New(rand.NewPCG(seed, 4)),
		plans: map[*running]*plan{},
		pass:  math.Inf(1),
	}
}

func (q *qore) step(c *cluster) float64 {
	q.forget()
	q.arrive(c)
	q.create(c)
	if c.now >= q.submitAt {
		q.submit(c)
		q.submitAt = c.now + submitTicks*tick
	}
	if c.now >= q.adjustAt {
		q.rules.adjust(q, c)
		q.pass = c.now + betweenPasses
		q.adjustAt = c.now + adjustTicks*tick
	}
	if c.now >= q.pass {
		q.rules.adjust(q, c)
		q.pass = math.Inf(1)
	}
	return min(q.submitAt, q.adjustAt, q.pass)
}

// forget removes the plans of ended jobs.
func (q *qore) forget() {
	for r := range q.plans {
		if r.endedAt >= 0 {
			delete(q.plans, r)
		}
	}
}

// arrive configures the jobs that have arrived: the request is the predicted peak.
func (q *qore) arrive(c *cluster) {
	for _, r := range c.all[q.seen:] {
		if !slices.Contains(c.waiting, r) {
			return
		}
		q.seen++
		p := &plan{
			running: r,
			workers: r.Workers,
			servers: r.Servers,
			cpu:     r.Peak,
		}
		r.memory = r.Memory
		q.plans[r] = p
		switch {
		case len(q.buffer)+len(q.outside) == 0:
			q.configure(c, p, 5)
			q.try(c, p)
		case len(q.buffer) < maxBuffer:
			q.buffer = append(q.buffer, p)
		default:
			q.outside = append(q.outside, p)
		}
	}
}

// submit tries the jobs that did not fit, and then the buffer in the order of priority.
func (q *qore) submit(c *cluster) {
	retry := q.next
	q.next = nil
	for _, p := range retry {
		q.retry(c, p)
	}
	for _, p := range q.queue(c) {
		q.buffer = slices.DeleteFunc(q.buffer, func(o *plan) bool { return o == p })
		if q.configure(c, p, 6); q.try(c, p) {
			continue
		}
		if q.rules.skips() {
			q.fill(c)
		}
		break
	}
	for len(q.outside) > 0 && len(q.buffer) < maxBuffer {
		q.buffer = append(q.buffer, q.outside[0])
		q.outside = q.outside[1:]
	}
}

// queue returns the buffer in the order of priority. Jobs of the same priority stay in their order.
func (q *qore) queue(c *cluster) []*plan {
	values, load := map[*plan]float64{}, clusterLoad(c)
	for _, p := range q.buffer {
		values[p] = q.rules.priority(q, c, p, load)
	}
	queue := slices.Clone(q.buffer)
	slices.SortStableFunc(queue, func(a, b *plan) int { return cmp.Compare(values[b], values[a]) })
	return queue
}

// fill starts the jobs of the buffer that fit, behind one that does not.
func (q *qore) fill(c *cluster) {
	for _, p := range q.queue(c) {
		if q.configure(c, p, 6); q.fit(c, p) {
			q.buffer = slices.DeleteFunc(q.buffer, func(o *plan) bool { return o == p })
		}
	}
}

// retry tries a job with less CPU. After some failures it waits in the buffer again.
func (q *qore) retry(c *cluster, p *plan) {
	if q.fit(c, p) {
		return
	}
	if p.cpu > 0.515*p.Peak {
		p.cpu = max(0.85*p.cpu, 0.515*p.Peak)
	} else {
		p.memory = 1.093 * p.Memory
	}
	if p.tries++; p.tries >= maxTries {
		p.tries = 0
		q.buffer = append(q.buffer, p)
		return
	}
	q.next = append(q.next, p)
}

// try starts a job, with fewer pods if not all of them fit. It returns false if the job must wait.
func (q *qore) try(c *cluster, p *plan) bool {
	if q.fit(c, p) {
		return true
	}
	p.workers, p.servers = 1, 1
	q.next = append(q.next, p)
	return false
}

// fit starts a job if a part of its pods fits, by one snapshot of the hosts' use.
func (q *qore) fit(c *cluster, p *plan) bool {
	workers, servers := q.count(c, p)
	if workers == 0 || servers == 0 {
		return false
	}
	p.workers, p.servers = min(p.workers, workers), min(p.servers, servers)
	q.created = append(q.created, p)
	q.create(c)
	return true
}

// count returns how many of a job's pods fit on the hosts, by their use.
func (q *qore) count(c *cluster, p *plan) (workers, servers int) {
	for i, l := range c.hostLoads() {
		h := c.layout.Hosts[i]
		cores, memory := h.Cores*(1-l.cpu), h.Memory*(1-l.memory)
		for servers < p.servers && cores > serverCores && memory > serverMemory {
			servers++
			cores, memory = cores-serverCores, memory-serverMemory
		}
		for workers < p.workers && cores > p.cpu && memory > p.memory {
			workers++
			cores, memory = cores-p.cpu, memory-p.memory
		}
	}
	return workers, servers
}

// create has the default scheduler place the pods of created jobs, on the lightest hosts on which their requests fit.
func (q *qore) create(c *cluster) {
	for _, p := range slices.Clone(q.created) {
		if q.place(c, p) {
			q.created = slices.DeleteFunc(q.created, func(o *plan) bool { return o == p })
		}
	}
}

func (q *qore) place(c *cluster, p *plan) bool {
	before := slices.Clone(c.requested)
	loads := c.hostLoads()
	lightest := func(cores, memory float64) (int, bool) {
		best, least := -1, math.Inf(1)
		for i := range c.layout.Hosts {
			if u := cpuPart*loads[i].cpu + memoryPart*loads[i].memory; u < least && c.fits(i, cores, memory) {
				best, least = i, u
			}
		}
		if best >= 0 {
			c.requested[best].Cores += cores
			c.requested[best].Memory += memory
		}
		return best, best >= 0
	}
	var pods []pod
	var servers []int
	fits := true
	for range p.servers {
		host, ok := lightest(serverCores, serverMemory)
		servers, fits = append(servers, host), fits && ok
	}
	for range p.workers {
		host, ok := lightest(p.cpu, p.memory)
		pods, fits = append(pods, pod{host: host, weight: p.cpu, quota: p.cpu, request: p.cpu}), fits && ok
	}
	c.requested = before
	if !fits {
		return false
	}
	c.start(p.running, pods, servers, p.memory)
	return true
}
