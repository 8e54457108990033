package deadlinesim

import (
	"math"
	"slices"
)

// consumer is what competes for the CPU of a host: a worker, a parameter server or the background.
type consumer struct {
	weight, most float64
	// use returns the mean number of cores that it uses with this CPU while it computes.
	use func(cpu float64) float64
	// serve is called with the CPU.
	serve func(cpu float64)
}

func all(cpu float64) float64 { return cpu }

// divide computes the CPU of all pods on the hosts on which something has changed.
func (c *cluster) divide() {
	if !slices.Contains(c.dirty, true) {
		return
	}
	c.present = nil
	consumers := make([][]consumer, len(c.layout.Hosts))
	for i, h := range c.layout.Hosts {
		if demand := c.background.at(i, c.now).cpu * h.Cores; c.dirty[i] && demand > 0 {
			consumers[i] = append(consumers[i], consumer{
				weight: c.background.means[i].cpu * h.Cores,
				most:   demand,
				use:    all,
				serve:  func(cpu float64) { c.loads[i].cpu = cpu / h.Cores },
			})
		}
	}
	for _, r := range c.active {
		paused := r.pausedUntil > c.now
		for k := range r.pods {
			p := &r.pods[k]
			if !c.dirty[p.host] {
				continue
			}
			if paused {
				p.cpu, p.used, p.rate = 0, 0, 0
				continue
			}
			consumers[p.host] = append(consumers[p.host], consumer{
				weight: p.weight,
				most:   min(p.quota, r.Peak*r.Law.Usable),
				use:    func(cpu float64) float64 { return r.Peak * r.Law.Use(cpu/r.Peak) },
				serve: func(cpu float64) {
					p.cpu = cpu
					p.used = r.Peak * r.Law.Use(cpu/r.Peak)
					p.rate = 1 / r.Law.Time(cpu/r.Peak)
				},
			})
		}
		for _, host := range r.servers {
			if c.dirty[host] && !paused {
				consumers[host] = append(consumers[host], consumer{
					weight: serverCores,
					most:   serverCores,
					use:    all,
					serve:  func(float64) {},
				})
			}
		}
	}
	for i := range consumers {
		if c.dirty[i] {
			share(consumers[i], c.layout.Hosts[i].Cores)
			c.dirty[i] = false
		}
	}
}

// share divides the cores of a host as Linux does: by weight, to no consumer more than it can use, and no core is idle that some
// consumer can use.
func share(consumers []consumer, cores float64) {
	used := func(level float64) float64 {
		sum := 0.0
		for _, c := range consumers {
			sum += c.use(min(c.most, level*c.weight))
		}
		return sum
	}
	high := 0.0
	for _, c := range consumers {
		high = max(high, c.most/c.weight)
	}
	level := high
	if used(high) > cores {
		low := 0.0
		for range 40 {
			if level = (low + high) / 2; used(level) > cores {
				high = level
			} else {
				low = level
			}
		}
		level = low
	}
	for _, c := range consumers {
		c.serve(max(min(c.most, level*c.weight), math.SmallestNonzeroFloat32))
	}
}
