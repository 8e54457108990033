package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// newcomers returns the part of the time of each GPU with jobs that the policy is expected to give a job of unknown size that
// arrives there now. It is nil unless jobs are clients of MPS, whose threads may be limited by it.
func (n *Node) newcomers() map[growth.GPU]growth.Share {
	if !n.sharedByMPS {
		return nil
	}
	groups := n.groups
	if !n.dividesGPUs() {
		groups = connect(n.gpuJobs())
	}
	shares := map[growth.GPU]growth.Share{}
	for _, g := range groups {
		for _, gpu := range g.gpus {
			shares[gpu] = n.newcomer(g, gpu)
		}
	}
	return shares
}

// newcomer returns the share of a job that arrives on one GPU of a group. What the policy gives a job of unknown size is its part
// of the time by weights.
func (n *Node) newcomer(g gpuGroup, gpu growth.GPU) growth.Share {
	weights, limits := []float64{1}, []growth.Share{1}
	on := [][]growth.GPU{{gpu}}
	for _, j := range g.jobs {
		weights = append(weights, n.weightNextToOthers(j))
		limits = append(limits, j.limit())
		on = append(on, j.gpus)
	}
	return fairfinish.LimitedTimeShares(weights, limits, on)[0]
}

func (n *Node) weightNextToOthers(j gpuJob) float64 {
	switch {
	case n.config.Policy == policy.Harmless:
		return float64(j.priority())
	case n.config.Policy != policy.Fair && j.gpu.weight > 0:
		return j.gpu.weight
	}
	return 1
}
