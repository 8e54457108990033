package deadlinesim

import (
	"cmp"
	"slices"
)

// utilisation integrates the load of the cluster over the time in which jobs arrive.
type utilisation struct {
	from, to float64
	// weighted is U of Qore-DL, cpu and memory are those of all hosts.
	weighted, cpu, memory, seconds float64
}

// Weights of Qore-DL: a host's load is 0.7 of CPU and 0.3 of memory; the lightest third of the hosts has 95 % of the weight.
const cpuPart, memoryPart, lightPart = 0.7, 0.3, 0.95

// measure adds the load of some seconds from now on.
func (c *cluster) measure(seconds float64) {
	seconds = min(c.now+seconds, c.used.to) - max(c.now, c.used.from)
	if seconds <= 0 {
		return
	}
	loads := c.hostLoads()
	c.used.weighted += seconds * weighted(loads)
	cores, memory, usedCores, usedMemory := 0.0, 0.0, 0.0, 0.0
	for i, h := range c.layout.Hosts {
		cores, memory = cores+h.Cores, memory+h.Memory
		usedCores, usedMemory = usedCores+loads[i].cpu*h.Cores, usedMemory+loads[i].memory*h.Memory
	}
	c.used.cpu += seconds * usedCores / cores
	c.used.memory += seconds * usedMemory / memory
	c.used.seconds += seconds
}

// outcome returns the means over the measured time.
func (u utilisation) outcome() Outcome {
	return Outcome{
		Weighted: u.weighted / u.seconds,
		CPU:      u.cpu / u.seconds,
		Memory:   u.memory / u.seconds,
	}
}

// hostLoads returns the present use of each host by everything on it. The caller does not modify it.
func (c *cluster) hostLoads() []load {
	if c.present != nil {
		return c.present
	}
	loads := slices.Clone(c.loads)
	for _, r := range c.active {
		if r.pausedUntil > c.now {
			continue
		}
		for _, p := range r.pods {
			loads[p.host].cpu += p.used / c.layout.Hosts[p.host].Cores
			loads[p.host].memory += r.Memory * memoryUse / c.layout.Hosts[p.host].Memory
		}
		for _, host := range r.servers {
			loads[host].cpu += serverCores / c.layout.Hosts[host].Cores
			loads[host].memory += serverMemory / c.layout.Hosts[host].Memory
		}
	}
	for i := range loads {
		loads[i].cpu, loads[i].memory = min(loads[i].cpu, 1), min(loads[i].memory, 1)
	}
	c.present = loads
	return loads
}

// total returns the load of a host in U.
func (l load) total() float64 { return cpuPart*l.cpu + memoryPart*l.memory }

// weighted returns U: the load of the hosts by the probability of placement on them.
func weighted(loads []load) float64 {
	hosts := make([]float64, len(loads))
	for i, l := range loads {
		hosts[i] = l.total()
	}
	slices.SortFunc(hosts, cmp.Compare[float64])
	light := (len(hosts) + 2) / 3
	sum := 0.0
	for i, l := range hosts {
		if i < light {
			sum += lightPart * l / float64(light)
		} else {
			sum += (1 - lightPart) * l / float64(len(hosts)-light)
		}
	}
	return sum
}
