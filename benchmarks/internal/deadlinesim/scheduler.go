package deadlinesim

import (
	"math"
	"slices"
)

// submitted is Kubernetes' default scheduler, with requests as submitted.
type submitted struct {
	// limits is set if the limits equal the requests, as in Qore-DL's templates. Otherwise CPU that a job does not use goes to
	// others.
	limits bool
	// points are those of an extender; nil without one.
	points extender
}

func (s submitted) step(c *cluster) float64 {
	for _, r := range slices.Clone(c.waiting) {
		cores := r.CPUGuess * r.Peak
		quota := math.Inf(1)
		if s.limits {
			quota = cores
		}
		c.place(r, pod{request: cores, weight: cores, quota: quota}, s.points)
	}
	return math.Inf(1)
}

// extender gives each host points for a worker, next to workers of the same job that have their hosts.
type extender func(placed []pod, worker pod) []int64

// place starts a job if all of its pods fit. The default scheduler prefers the host that is least allocated, of those with the most points
// of an extender if there is one. A job that does not fit delays no other.
func (c *cluster) place(r *running, worker pod, points extender) {
	memory := r.MemoryGuess * r.Memory
	before := slices.Clone(c.requested)
	var pods []pod
	var serverHosts []int
	for range r.Servers {
		host, ok := c.leastAllocated(serverCores, serverMemory, nil)
		if !ok {
			break
		}
		c.requested[host].Cores += serverCores
		c.requested[host].Memory += serverMemory
		serverHosts = append(serverHosts, host)
	}
	for range r.Workers {
		var given []int64
		if points != nil {
			given = points(pods, worker)
		}
		host, ok := c.leastAllocated(worker.request, memory, given)
		if !ok {
			break
		}
		c.requested[host].Cores += worker.request
		c.requested[host].Memory += memory
		worker.host = host
		pods = append(pods, worker)
	}
	c.requested = before
	if len(serverHosts) == r.Servers && len(pods) == r.Workers {
		c.start(r, pods, serverHosts, memory)
	}
}

// leastAllocated returns the host with the largest free fraction after the pod, of those on which it fits. A point weighs more.
func (c *cluster) leastAllocated(cores, memory float64, points []int64) (best int, ok bool) {
	most := math.Inf(-1)
	for i, h := range c.layout.Hosts {
		if !c.fits(i, cores, memory) {
			continue
		}
		free := (1-(c.requested[i].Cores+cores)/h.Cores)/2 + (1-(c.requested[i].Memory+memory)/h.Memory)/2
		if points != nil {
			free += 2 * float64(points[i])
		}
		if free > most {
			best, most, ok = i, free, true
		}
	}
	return best, ok
}
