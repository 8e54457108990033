package clustersim

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// pool is what jobs of a worker share: its CPUs, or one of its GPUs.
type pool struct {
	*worker
	gpu growth.GPU
}

// pools returns the pools of a worker.
func (w *worker) pools() []pool {
	if len(w.gpus) == 0 {
		return []pool{{worker: w}}
	}
	all := make([]pool, len(w.gpus))
	for i, gpu := range w.gpus {
		all[i] = pool{w, gpu}
	}
	return all
}

// name is that of the pool in package specon.
func (p pool) name() growth.NodeName {
	if p.gpu == "" {
		return p.worker.name
	}
	return p.worker.name + "/" + growth.NodeName(p.gpu)
}

// take expects a job that moves to the pool.
func (p pool) take(j *job) {
	j.on = p.worker
	if p.gpu != "" {
		j.On = []growth.GPU{p.gpu}
	}
	p.expect(j)
}

// view returns the pools of a cluster as package specon sees them, worker by worker. Moving jobs are on their targets.
func (c *cluster) view() []specon.Node {
	nodes := make([]specon.Node, 0, len(c.pools))
	for _, w := range c.workers {
		first := len(nodes)
		for _, p := range w.pools() {
			n := specon.Node{Name: p.name(), Use: growth.Share(w.use), GPU: p.gpu, CPU: growth.MilliCPU(w.capacity) * growth.Core}
			if p.gpu != "" {
				n.CPU = growth.Core // a GPU counts as a node with one core
			}
			nodes = append(nodes, n)
		}
		add := func(j *job, fixed string) {
			at := first
			if len(w.gpus) > 0 {
				at += slices.Index(w.gpus, j.On[0])
			}
			nodes[at].Jobs = append(nodes[at].Jobs, j.view(fixed))
		}
		for _, j := range w.jobs {
			add(j, "")
		}
		for _, j := range w.coming {
			add(j, "it is moving")
		}
	}
	return nodes
}
