package deadlinesim

import (
	"math"
	"slices"
)

// smallRequest is the CPU that a worker requests where shares and not requests divide the CPU.
const smallRequest = 1.0

// even admits jobs by small requests, and all workers of a host get equal parts of what its background leaves.
type even struct{}

func (even) step(c *cluster) float64 {
	admitSmall(c, nil)
	pods := make([][]*pod, len(c.layout.Hosts))
	for _, r := range c.active {
		for k := range r.pods {
			pods[r.pods[k].host] = append(pods[r.pods[k].host], &r.pods[k])
		}
	}
	for host, some := range pods {
		for _, p := range some {
			c.setWeight(p, c.pool(host)/float64(len(some)))
		}
	}
	return math.Inf(1)
}

// admitSmall starts all waiting jobs whose memory fits.
func admitSmall(c *cluster, points extender) {
	for _, r := range slices.Clone(c.waiting) {
		c.place(r, pod{request: smallRequest, weight: smallRequest, quota: math.Inf(1)}, points)
	}
}

// pool returns the CPU that jobs divide on a host: what the background does not request.
func (c *cluster) pool(host int) float64 {
	return c.layout.Hosts[host].Cores * (1 - c.background.means[host].cpu)
}

func (c *cluster) setWeight(p *pod, weight float64) {
	if p.weight != weight {
		p.weight = weight
		c.dirty[p.host] = true
	}
}
