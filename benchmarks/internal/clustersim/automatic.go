package clustersim

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/rebalance"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// automatic moves jobs as the extender does with --moves=automatic: package rebalance decides at most one move every 10 s.
type automatic struct{ rule specon.Rule }

func (automatic) interval() float64 { return 10 }

func (a automatic) choose(c *cluster) []specon.Move {
	c.counts.Views++
	d, ok, _ := rebalance.Choose(c.known(), a.rule)
	if !ok {
		return nil
	}
	return []specon.Move{{Job: d.Pod.UID, From: d.From, To: d.To, Reason: specon.Faster, Delay: d.Delay}}
}

// known is what the extender knows of the cluster. No pod is pending, since any number of jobs fits on a worker.
func (c *cluster) known() rebalance.Cluster {
	k := rebalance.Cluster{
		Now:     date(c.now),
		Nodes:   make([]rebalance.Node, len(c.workers)),
		Moving:  len(c.moving),
		Policy:  c.policy(),
		Allowed: func(growth.PodUID, growth.NodeName) bool { return true },
	}
	for _, j := range c.moved {
		k.Past = append(k.Past, rebalance.Past{Kind: j.program(), History: j.history})
	}
	touched := c.touched()
	for i, w := range c.workers {
		k.Nodes[i] = w.described(c.now)
		if touched[w.name] {
			k.Nodes[i].Unused = "a job moves from or to it"
		}
	}
	return k
}

// described returns a worker with its jobs. All workers have GPUs of one model.
func (w *worker) described(now float64) rebalance.Node {
	n := rebalance.Node{
		Node:    w.seen,
		GPUTime: len(w.gpus) > 0,
		CPU:     growth.MilliCPU(w.capacity) * growth.Core,
		Jobs:    make([]rebalance.Job, len(w.jobs)),
	}
	for i, j := range w.jobs {
		n.Jobs[i] = j.described(now)
	}
	return n
}

// sampled is the time until a coordinator has published the first sample of a job, in seconds.
const sampled = 5

// described returns a job whose samples are as new as can be. It has a checkpoint on a volume that all nodes can mount.
func (j *job) described(now float64) rebalance.Job {
	d := rebalance.Job{
		Pod:     growth.PodRef{Namespace: "sim", Name: string(j.ID()), UID: j.ID()},
		GPUs:    j.On,
		Request: request(),
		Created: j.created,
		History: j.history,
	}
	d.Request.Kind = j.program()
	if len(d.GPUs) == 0 {
		d.GPUs = []growth.GPU{onlyGPU}
	}
	if now >= j.placed+sampled {
		d.Prospects = &rebalance.Prospects{
			Node:      j.on.name,
			Remaining: j.Remaining(0),
			Usable:    growth.MilliCPU(1000 * j.Limit),
			Activity:  1, // it does not wait for data
		}
	}
	return d
}

func (j *job) program() interference.Kind { return interference.Kind(j.Kind) }
