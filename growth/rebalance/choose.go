package rebalance

import (
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// Choose returns the next move, and why nodes take no part. Room for a pending pod comes first. There is at most one move, since
// it changes everything that the next one depends on.
func Choose(c Cluster, rule specon.Rule) (d Decision, ok bool, skipped map[growth.NodeName]string) {
	if c.Moving >= rule.InFlight {
		return Decision{}, false, nil
	}
	v := newView(c)
	if d, ok = v.makeRoom(rule); ok {
		return d, true, nil
	}
	return v.endEarlier(rule)
}

// endEarlier returns the move that ends jobs earlier by most.
func (v *view) endEarlier(rule specon.Rule) (Decision, bool, map[growth.NodeName]string) {
	skipped, of := map[growth.NodeName]string{}, map[growth.NodeName]pool{}
	var nodes []specon.Node
	for i := range v.Nodes {
		pools, why := v.pools(&v.Nodes[i])
		if why != "" {
			skipped[v.Nodes[i].Name] = why
		}
		for _, p := range pools {
			nodes, of[p.Name] = append(nodes, p.Node), p
		}
	}
	fits := func(j specon.Job, on specon.Node) bool {
		to := of[on.Name]
		from := v.jobs[j.ID]
		return from.host != to.host && v.fits(*from.job, from.host, to)
	}
	rule.InFlight = v.Moving + 1
	for _, m := range rule.Choose(nodes, v.Now, fits, v.Moving) {
		job := v.jobs[m.Job].job
		from, to := of[m.From].host.Name, of[m.To].host.Name
		return Decision{
			Pod:   job.Pod,
			From:  from,
			To:    to,
			Cause: move.Faster,
			Delay: m.Delay,
			Because: fmt.Sprintf("the jobs of both nodes end %s earlier in total. The move takes about %s (%s), and has to gain %g times that",
				rounded(m.Gain), rounded(m.Cost), v.basis(*job, to), rule.Factor),
		}, true, skipped
	}
	return Decision{}, false, skipped
}

// fits reports whether a job would run on a pool of another node if it moved there.
func (v *view) fits(j Job, from *Node, to pool) bool {
	if from.GPUTime != to.host.GPUTime || from.Overlap != to.host.Overlap {
		return false
	}
	choice, status := placement.Place(to.host.Node, j.Request, v.Policy)
	if !status.Fits() || to.GPU != "" && choice.GPUs[0].GPU != to.GPU {
		return false
	}
	return sameModels(j, from, choice, to.host) && v.Allowed(j.Pod.UID, to.host.Name)
}

// sameModels reports whether the GPUs of a choice are of the model that the job runs on, so that it is as fast.
func sameModels(j Job, from *Node, choice placement.Choice, to *Node) bool {
	return !slices.ContainsFunc(choice.GPUs, func(share growth.GPUShare) bool {
		return len(j.GPUs) == 0 || to.Models[share.GPU] != from.Models[j.GPUs[0]]
	})
}

func rounded(s growth.Seconds) time.Duration { return s.Duration().Round(time.Second) }
