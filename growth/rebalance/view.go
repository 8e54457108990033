package rebalance

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/move"
)

// view is a Cluster with indices for one decision.
type view struct {
	Cluster
	jobs map[growth.PodUID]hosted
	// arrivals are the moves to a node, programs those of the jobs of a program that have succeeded. replaced has the evictions and
	// placements of all moves.
	arrivals map[growth.NodeName][]move.Past
	programs map[interference.Kind]moved
	replaced moved
	// pulls are the pulls of images by the moves of the jobs of a program.
	pulls map[interference.Kind]moved
	// overlapping has a job of each kind on nodes where kernels overlap.
	overlapping map[interference.Kind]interference.Member
}

type hosted struct {
	job  *Job
	host *Node
}

// moved counts jobs that have moved, or moves, and sums their costs.
type moved struct {
	moved int
	sum   growth.Seconds
}

func (m moved) with(cost growth.Seconds) moved { return moved{m.moved + 1, m.sum + cost} }

func newView(c Cluster) *view {
	v := &view{
		Cluster:     c,
		jobs:        map[growth.PodUID]hosted{},
		arrivals:    map[growth.NodeName][]move.Past{},
		programs:    map[interference.Kind]moved{},
		pulls:       map[interference.Kind]moved{},
		overlapping: map[interference.Kind]interference.Member{},
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for k := range n.Jobs {
			j := &n.Jobs[k]
			v.jobs[j.Pod.UID] = hosted{j, n}
			if n.Overlap && j.Prospects != nil {
				v.overlapping[j.Request.Kind] = interference.Member{Kind: j.Request.Kind, Activity: j.Prospects.Activity}
			}
		}
	}
	for _, job := range c.Past {
		for _, p := range job.Past {
			if p.Gone {
				v.arrivals[p.To] = append(v.arrivals[p.To], p)
			}
			if p.Replaced > 0 {
				v.replaced = v.replaced.with(p.Replaced)
			}
		}
		if cost, ok := job.Cost(); ok && job.Kind != "" {
			v.programs[job.Kind] = v.programs[job.Kind].with(cost)
		}
		if pull, ok := job.Pull(); ok && job.Kind != "" {
			v.pulls[job.Kind] = v.pulls[job.Kind].with(pull)
		}
	}
	return v
}
