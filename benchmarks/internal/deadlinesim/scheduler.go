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
}

func (s submitted) step(c *cluster) float64 {
	for _, r := range slices.Clone(c.waiting) {
		cores := r.CPUGuess * r.Peak
		quota := math.Inf(1)
		if s.limits {
			quota = cores
		}
		c.place(r, r.Workers, r.Servers, pod{request: cores, weight: cores, quota: quota}, r.MemoryGuess*r.Memory)
	}
	return math.Inf(1)
}

// place starts a job if all of its pods fit. The default scheduler prefers the host that is least allocated. A job that does not
// fit delays no other.
func (c *cluster) place(r *running, workers, servers int, worker pod, memory float64) bool {
	before := slices.Clone(c.requested)
	var pods []pod
	var serverHosts []int
	for range servers {
		host, ok := c.leastAllocated(serverCores, serverMemory)
		if !ok {
			break
		}
		c.requested[host].Cores += serverCores
		c.requested[host].Memory += serverMemory
		serverHosts = append(serverHosts, host)
	}
	for range workers {
		host, ok := c.leastAllocated(worker.request, memory)
		if !ok {
			break
		}
		c.requested[host].Cores += worker.request
		c.requested[host].Memory += memory
		worker.host = host
		pods = append(pods, worker)
	}
	c.requested = before
	if len(serverHosts) < servers || len(pods) < workers {
		return false
	}
	c.start(r, pods, serverHosts, memory)
	return true
}

// leastAllocated returns the host with the largest free fraction after the pod, of those on which it fits.
func (c *cluster) leastAllocated(cores, memory float64) (best int, ok bool) {
	most := math.Inf(-1)
	for i, h := range c.layout.Hosts {
		if !c.fits(i, cores, memory) {
			continue
		}
		free := (1-(c.requested[i].Cores+cores)/h.Cores)/2 + (1-(c.requested[i].Memory+memory)/h.Memory)/2
		if free > most {
			best, most, ok = i, free, true
		}
	}
	return best, ok
}
