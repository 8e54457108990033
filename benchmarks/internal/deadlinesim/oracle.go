package deadlinesim

import (
	"cmp"
	"math"
	"slices"
)

// oracle is a relaxation: the whole cluster is one host, on which jobs of exactly known size change their CPU at no cost, and
// memory is no limit. It drops the jobs that it cannot save: while the deadlines of all accepted jobs cannot be met, the one with
// the most work of those in the way waits until nothing else runs (Moore and Hodgson). It knows no future arrivals. It returns the
// ends of the jobs, and the use of the host while jobs arrive.
func oracle(c *cluster, jobs []Job) ([]float64, utilisation) {
	ends := make([]float64, len(jobs))
	used := utilisation{from: jobs[0].Arrival, to: jobs[len(jobs)-1].Arrival}
	var tasks []*task
	now, arrived := jobs[0].Arrival, 0
	for arrived < len(jobs) || len(tasks) > 0 {
		for arrived < len(jobs) && jobs[arrived].Arrival <= now {
			j := jobs[arrived]
			tasks = append(tasks, &task{Job: j, index: arrived, left: j.cores() * j.Alone()})
			arrived++
		}
		cores := c.freeCores(now)
		step := period - math.Mod(now, period) + 1e-6
		if arrived < len(jobs) {
			step = min(step, jobs[arrived].Arrival-now)
		}
		for _, t := range order(tasks, now, cores) {
			t.rate = min(cores, t.cores())
			cores -= t.rate
			if t.rate > 0 {
				step = min(step, t.left/t.rate)
			}
		}
		step = max(step, 1e-6)
		c.measureIdeal(&used, tasks, now, step)
		now += step
		tasks = slices.DeleteFunc(tasks, func(t *task) bool {
			t.left -= t.rate * step
			if t.left < 1e-3 {
				ends[t.index] = now
			}
			return t.left < 1e-3
		})
	}
	return ends, used
}

// measureIdeal adds the load of one large host for some seconds. All jobs that have arrived are in its memory. Its U is that of hosts
// with equal loads. U weighs light hosts most, so any other spread of the same load has a lower one.
func (c *cluster) measureIdeal(u *utilisation, tasks []*task, now, seconds float64) {
	seconds = min(now+seconds, u.to) - max(now, u.from)
	if seconds <= 0 {
		return
	}
	cores, memory, usedCores, usedMemory := 0.0, 0.0, 0.0, 0.0
	for i, h := range c.layout.Hosts {
		at := c.background.at(i, now)
		cores, memory = cores+h.Cores, memory+h.Memory
		usedCores, usedMemory = usedCores+at.cpu*h.Cores, usedMemory+at.memory*h.Memory
	}
	for _, t := range tasks {
		usedCores += t.rate + serverCores*float64(t.Servers)
		usedMemory += t.Memory*memoryUse*float64(t.Workers) + serverMemory*float64(t.Servers)
	}
	l := load{cpu: min(usedCores/cores, 1), memory: min(usedMemory/memory, 1)}
	u.weighted += seconds * l.total()
	u.cpu += seconds * l.cpu
	u.memory += seconds * l.memory
	u.seconds += seconds
}

// task is a job of the relaxation. left and rate are in core-seconds and cores.
type task struct {
	Job
	index      int
	left, rate float64
}

// freeCores returns what the background leaves of all hosts.
func (c *cluster) freeCores(now float64) float64 {
	cores := 0.0
	for i, h := range c.layout.Hosts {
		cores += h.Cores * (1 - c.background.at(i, now).cpu)
	}
	return cores
}

// order returns the tasks in the order in which they are served: those whose deadlines are met by deadline, then the others, of which
// the shortest is first.
func order(tasks []*task, now, cores float64) []*task {
	slices.SortStableFunc(tasks, func(a, b *task) int { return cmp.Compare(a.due(), b.due()) })
	var accepted, dropped []*task
	for _, t := range tasks {
		if math.IsInf(t.Deadline, 1) || now+t.left/t.cores() > t.due() {
			dropped = append(dropped, t)
			continue
		}
		accepted = append(accepted, t)
		sum := 0.0
		for _, a := range accepted {
			sum += a.left
		}
		if now+sum/cores > t.due() {
			most := slices.MaxFunc(accepted, func(a, b *task) int { return cmp.Compare(a.left, b.left) })
			dropped = append(dropped, most)
			accepted = slices.DeleteFunc(accepted, func(a *task) bool { return a == most })
		}
	}
	slices.SortStableFunc(dropped, func(a, b *task) int { return cmp.Compare(a.left, b.left) })
	return append(accepted, dropped...)
}
