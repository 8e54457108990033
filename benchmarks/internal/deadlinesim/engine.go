package deadlinesim

import (
	"math"
	"slices"
)

// pod is a worker on a host.
type pod struct {
	host int
	// weight divides the CPU of a busy host. quota bounds the CPU at any time; infinite without a limit.
	weight, quota float64
	// request is the CPU that the scheduler accounts.
	request float64

	// cpu is the CPU that it has while it computes, used the mean that it uses, rate its iterations per second.
	cpu, used, rate float64
	// consumed and waited are the core-seconds and the seconds of waiting for a CPU so far.
	consumed, waited float64
}

// running is a job in the cluster. It waits while it has no pods.
type running struct {
	Job
	index int
	pods  []pod
	// servers has the host of each parameter server.
	servers []int
	// memory is the request of each worker.
	memory float64
	// done is the work so far, in iterations. total is the work of the job.
	done, total float64
	// startedAt and endedAt are times on the clock; negative if not yet.
	startedAt, endedAt float64
	// pausedUntil is the end of a restart.
	pausedUntil float64
	restarts    int
	changes     int
}

func newRunning(j Job, index int) *running {
	return &running{
		Job:       j,
		index:     index,
		total:     j.work(),
		startedAt: -1,
		endedAt:   -1,
	}
}

func (r *running) rate() float64 {
	sum := 0.0
	for _, p := range r.pods {
		sum += p.rate
	}
	return sum
}

// system is a way to run jobs on the cluster. Step is called at each arrival and end, each period, and when the time that it
// has returned has come.
type system interface {
	step(c *cluster) (wake float64)
}

// cluster is one run of a workload.
type cluster struct {
	layout     Layout
	background background
	now        float64
	waiting    []*running // in the order of arrival
	active     []*running // in the order of their start
	all        []*running
	requested  []Host // requests by host, with those of the background
	loads      []load // of the background
	used       utilisation
	dirty      []bool // hosts whose division must be computed
	present    []load // result of hostLoads; nil if something has changed since
}

func newCluster(l Layout, b background) *cluster {
	c := &cluster{
		layout:     l,
		background: b,
		requested:  make([]Host, len(l.Hosts)),
		loads:      make([]load, len(l.Hosts)),
		dirty:      make([]bool, len(l.Hosts)),
	}
	for i, h := range l.Hosts {
		mean := b.means[i]
		c.requested[i] = Host{mean.cpu * h.Cores, mean.memory * h.Memory}
	}
	return c
}

// maxTime ends a run in which jobs never end, in seconds.
const maxTime = 60 * 86_400

// run runs the jobs to their ends.
func (c *cluster) run(jobs []Job, s system) []*running {
	for i, j := range jobs {
		c.all = append(c.all, newRunning(j, i))
	}
	c.used.from, c.used.to = jobs[0].Arrival, jobs[len(jobs)-1].Arrival
	arrived, wake := 0, 0.0
	c.loadBackground()
	for left := len(jobs); left > 0 && c.now < maxTime; {
		for arrived < len(jobs) && jobs[arrived].Arrival <= c.now {
			c.waiting = append(c.waiting, c.all[arrived])
			arrived++
		}
		wake = s.step(c)
		c.divide()
		next := min(wake, (math.Floor(c.now/period)+1)*period)
		if arrived < len(jobs) {
			next = min(next, jobs[arrived].Arrival)
		}
		for _, r := range c.active {
			if r.pausedUntil > c.now {
				next = min(next, r.pausedUntil)
			} else if rate := r.rate(); rate > 0 {
				next = min(next, c.now+(r.total-r.done)/rate)
			}
		}
		left -= c.advance(max(next, c.now+1e-6))
	}
	return c.all
}

// advance runs all pods until a time and returns the number of jobs that end then.
func (c *cluster) advance(to float64) (ended int) {
	seconds := to - c.now
	c.measure(seconds)
	for _, r := range c.active {
		if r.pausedUntil > c.now {
			if r.pausedUntil <= to {
				c.touch(r)
			}
			continue
		}
		r.done += r.rate() * seconds
		for i := range r.pods {
			p := &r.pods[i]
			p.consumed += p.used * seconds
			if most := min(p.quota, r.Peak*r.Law.Usable); p.cpu < most && p.cpu > 0 {
				p.waited += seconds * p.used / p.cpu * (1 - p.cpu/most)
			}
		}
	}
	before := c.now
	c.now = to
	if math.Floor(before/period) != math.Floor(to/period) {
		c.loadBackground()
	}
	for _, r := range slices.Clone(c.active) {
		if r.total-r.done < 1e-6*r.total {
			c.stop(r)
			r.endedAt = to
			ended++
		}
	}
	return ended
}

func (c *cluster) loadBackground() {
	c.present = nil
	for i := range c.loads {
		c.loads[i] = c.background.at(i, c.now)
		c.dirty[i] = true
	}
}

// touch marks the hosts of a job for a new division.
func (c *cluster) touch(r *running) {
	for _, p := range r.pods {
		c.dirty[p.host] = true
	}
}

// start starts a waiting job on hosts. The pods have their requests.
func (c *cluster) start(r *running, pods []pod, servers []int, memory float64) {
	r.pods, r.servers, r.memory = pods, servers, memory
	if r.startedAt < 0 {
		r.startedAt = c.now
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(w *running) bool { return w == r })
	c.active = append(c.active, r)
	c.account(r, 1)
	c.touch(r)
	c.present = nil
}

// stop removes a job's pods.
func (c *cluster) stop(r *running) {
	c.touch(r)
	c.present = nil
	c.account(r, -1)
	r.pods, r.servers = nil, nil
	c.active = slices.DeleteFunc(c.active, func(w *running) bool { return w == r })
}

// account adds a job's requests to its hosts, or removes them.
func (c *cluster) account(r *running, sign float64) {
	for _, p := range r.pods {
		c.requested[p.host].Cores += sign * p.request
		c.requested[p.host].Memory += sign * r.memory
	}
	for _, host := range r.servers {
		c.requested[host].Cores += sign * serverCores
		c.requested[host].Memory += sign * serverMemory
	}
}

// fits reports whether requests fit on a host next to those that are there.
func (c *cluster) fits(host int, cores, memory float64) bool {
	h, requested := c.layout.Hosts[host], c.requested[host]
	return requested.Cores+cores <= h.Cores+1e-9 && requested.Memory+memory <= h.Memory+1e-9
}
