package deadlinesim

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// points are those of Trellis's extender (growth/placement), by the CPU of the hosts: each worker has a GPU of its own, of which there are
// enough.
func (s *trellis) points(c *cluster) extender {
	return func(placed []pod, worker pod) []int64 {
		hosts := s.hosts(c, placed)
		policy := placement.MarginalGrowth{}
		request := placement.Request{CPU: millicores(worker.request), Count: 1, Memory: 1, Containers: []placement.Container{{Units: 1}}}
		scores, normalizer := make([]placement.Score, len(hosts)), placement.Normalizer{}
		for i, n := range hosts {
			scores[i], _ = placement.ScoreNode(n, request, policy)
			normalizer.Add(scores[i])
		}
		points := make([]int64, len(hosts))
		for i, score := range scores {
			points[i] = normalizer.Points(score)
		}
		return points
	}
}

// hosts returns the hosts as the extender sees them, without the expected ends of jobs. A worker that has just started uses what it requests.
func (s *trellis) hosts(c *cluster, placed []pod) []placement.Node {
	nodes := make([]placement.Node, len(c.layout.Hosts))
	for i := range nodes {
		nodes[i] = placement.Node{
			Unit: 1,
			CPU:  millicores(c.pool(i)),
			GPUs: []placement.GPU{{UUID: "free", Memory: 1, Healthy: true}, {UUID: "taken"}},
		}
	}
	add := func(host int, r placement.Resident) {
		r.Growth = placement.NewJobGrowth
		nodes[host].GPUs[1].Residents = append(nodes[host].GPUs[1].Residents, r)
	}
	for _, r := range c.active {
		for k, p := range r.pods {
			cpu := max(s.jobs[uid(r, k)].Usable, millicores(p.used))
			if p.consumed == 0 {
				cpu = millicores(p.request)
			}
			add(p.host, placement.Resident{CPU: cpu})
		}
	}
	for _, p := range placed {
		add(p.host, placement.Resident{CPU: millicores(p.request)})
	}
	return nodes
}

func millicores(cores float64) growth.MilliCPU { return growth.MilliCPU(1000 * cores) }
